package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// progressInterval is the time between two progress notifications of a call.
const progressInterval = 5 * time.Second

// maxProgressToken is the maximum length of a progress token in bytes. Each notification
// repeats the token.
const maxProgressToken = 256

// isProgressToken reports whether a value is a number or a short string, as the protocol
// requires.
func isProgressToken(token any) bool {
	switch token := token.(type) {
	case string:
		return len(token) <= maxProgressToken
	case float64, int, int64, json.Number:
		return true
	default:
		return false
	}
}

// reportProgress sends progress notifications until the returned function is called, if the
// client asks for them with a progress token. The service does not report how much of a call
// is done, so the progress is the time in seconds; the total is the maximum duration of a
// call that waits, and unknown for others.
func (t *tool) reportProgress(ctx context.Context, req *sdk.CallToolRequest, arguments json.RawMessage) (stop func()) {
	token := req.Params.GetProgressToken()
	if !isProgressToken(token) {
		return func() {}
	}
	limit := t.waitLimit(arguments)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(t.progressInterval)
		defer ticker.Stop()
		for elapsed := t.progressInterval; ; elapsed += t.progressInterval {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			p := &sdk.ProgressNotificationParams{ProgressToken: token, Progress: elapsed.Seconds(), Message: fmt.Sprintf("%s has been running for %.0f seconds", t.definition.Name, elapsed.Seconds())}
			if elapsed <= limit {
				p.Total = limit.Seconds()
			}
			if req.Session.NotifyProgress(ctx, p) != nil {
				return // the client has disconnected
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
