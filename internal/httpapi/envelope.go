package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"strconv"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"

	"parapet/internal/fault"
	"parapet/internal/op"
)

// Envelope is the body of every error response.
type Envelope struct {
	Error Error `json:"error"`
}

// Error is the content of the envelope.
type Error struct {
	Code       fault.Code     `json:"code"`
	Message    string         `json:"message"`
	Reason     string         `json:"reason,omitempty"`
	Reasons    []fault.Reason `json:"reasons,omitempty"`
	Field      string         `json:"field,omitempty"`
	Permission string         `json:"permission,omitempty"`
	RequestID  string         `json:"requestId"`
	Details    map[string]any `json:"details,omitempty"`
}

// writeError writes the error response and logs the private cause.
func (a *API) writeError(c *gin.Context, err error) {
	ctx := c.Request.Context()
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		// The client closed the connection. Nobody reads the response, and the server is not
		// the cause of the error.
		c.Set(abandonedKey, true)
		if !fault.HasCode(err, fault.CodeOutcomeUnknown) {
			err = fault.Unavailable(err)
		}
	}
	f := fault.From(err)
	switch f.Code {
	case fault.CodeInternal, fault.CodeOutcomeUnknown:
		a.cfg.Log.ErrorContext(ctx, "request failed", slog.String("requestId", op.RequestID(ctx)), slog.Any("error", err))
	case fault.CodeUnavailable:
		a.cfg.Log.WarnContext(ctx, "request could not be served", slog.String("requestId", op.RequestID(ctx)), slog.Any("error", err))
	}
	c.Set(errorCodeKey, string(f.Code))
	if f.RetryAfter > 0 {
		c.Header("Retry-After", strconv.Itoa(int(math.Ceil(f.RetryAfter.Seconds()))))
	}
	if f.Code == fault.CodeUnauthorized {
		c.Header("WWW-Authenticate", `Bearer realm="parapet"`)
	}
	text, marshalErr := json.Marshal(Envelope{Error{
		Code: f.Code, Message: f.Message, Reason: f.Reason, Reasons: f.Reasons, Field: f.Field,
		Permission: f.Permission, RequestID: op.RequestID(ctx), Details: f.Details,
	}}, json.Deterministic(true))
	if marshalErr != nil {
		a.cfg.Log.ErrorContext(ctx, "cannot encode the error response", slog.Any("error", marshalErr))
		text = []byte(`{"error":{"code":"INTERNAL","message":"Something went wrong on the server.","requestId":"` + op.RequestID(ctx) + `"}}`)
	}
	c.Abort()
	c.Data(fault.Status(f.Code), "application/json", text)
}
