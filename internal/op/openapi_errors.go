package op

import (
	"strconv"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"parapet/internal/fault"
)

// errorResponse is the response for an error status.
type errorResponse struct {
	status      int
	name        string
	description string
	// example is the error in the example of the response.
	example *fault.Error
}

// errorResponses returns the error responses, by status.
func errorResponses() []errorResponse {
	return []errorResponse{
		{400, "InvalidInput", "The input is invalid; `field` names the invalid field.",
			fault.Validation("title", "The field title is required.")},
		{401, "Unauthorized", "There is no valid credential.",
			fault.Unauthorized()},
		{403, "Forbidden", "The policies denied the request, or the caller cannot act in the tenant that `x-act-as-org` names. `reasons` lists why, the most specific reason first.",
			fault.Forbidden("task.update").WithReasons([]fault.Reason{
				{Code: "permission_missing", Message: "The permission {permission} is missing.", Remedy: "Ask an administrator for a role that grants {permission}."},
			})},
		{404, "NotFound", "The record does not exist or is not visible to the caller. The response is the same in both cases.",
			fault.NotFound("task")},
		{409, "Conflict", "The input conflicts with the current state.",
			fault.Conflict("Another project of the tenant has this prefix.")},
		{412, "PreconditionFailed", "The record does not have the version in `ifVersion` or If-Match. `details.currentVersion` is its version, or 0 if it does not exist.",
			&fault.Error{Code: fault.CodePrecondition, Message: "The page has version 4, not 3. Read it again, then repeat your change."}},
		{413, "PayloadTooLarge", "The request body is too large.",
			&fault.Error{Code: fault.CodePayloadTooLarge, Message: "The body is too large."}},
		{415, "UnsupportedMediaType", "The request body is not JSON.",
			&fault.Error{Code: fault.CodeUnsupportedMedia, Message: "The body must be JSON: send Content-Type: application/json."}},
		{429, "RateLimited", "There were too many failed logins, password resets or concurrent waits for decisions.",
			fault.RateLimited(time.Minute)},
		{500, "ServerError", "An error of the server. With the code OUTCOME_UNKNOWN, the change may have happened.",
			fault.Internal(nil)},
		{503, "Unavailable", "The server is busy, or the database is unavailable. Nothing was changed.",
			fault.Unavailable(nil)},
	}
}

// errorStatuses returns the error statuses that an operation can respond with.
func errorStatuses(o *Operation) []int {
	// A public operation can return 401 too: a failed login.
	list := []int{400, 401, 429, 500, 503}
	if o.Access != Public {
		list = append(list, 403, 404)
	}
	if o.Effect.Changes() {
		list = append(list, 409)
	}
	if o.HasField(versionField) {
		list = append(list, 412)
	}
	if o.HasBody() {
		list = append(list, 413, 415)
	}
	return list
}

// responseComponents returns the error responses by name.
func responseComponents() map[string]any {
	all := map[string]any{}
	for _, r := range errorResponses() {
		content := map[string]any{"schema": map[string]any{"$ref": schemaPrefix + errorName}, "example": exampleError(r.example)}
		response := map[string]any{"description": r.description, "content": map[string]any{mediaType: content}}
		if r.status == 429 || r.status == 503 {
			response["headers"] = map[string]any{"Retry-After": map[string]any{
				"description": "The number of seconds to wait before a retry.",
				"schema":      &jsonschema.Schema{Type: "integer", Minimum: jsonschema.Ptr(0.0)},
			}}
		}
		all[r.name] = response
	}
	return all
}

// errorReferences returns references to the error responses of an operation, by status.
func errorReferences(o *Operation) map[string]any {
	names := map[int]string{}
	for _, r := range errorResponses() {
		names[r.status] = r.name
	}
	all := map[string]any{}
	for _, status := range errorStatuses(o) {
		all[strconv.Itoa(status)] = map[string]any{"$ref": "#/components/responses/" + names[status]}
	}
	return all
}

func exampleError(f *fault.Error) any {
	detail := exampleObject{{"code", string(f.Code)}, {"message", f.Message}}
	if f.Reasons != nil {
		var reasons []any
		for _, r := range f.Reasons {
			reasons = append(reasons, exampleObject{{"code", r.Code}, {"message", r.Message}, {"remedy", r.Remedy}})
		}
		detail = append(detail, exampleMember{"reasons", reasons})
	}
	if f.Field != "" {
		detail = append(detail, exampleMember{"field", f.Field})
	}
	if f.Permission != "" {
		detail = append(detail, exampleMember{"permission", f.Permission})
	}
	detail = append(detail, exampleMember{"requestId", exampleID(exampleField{name: "requestId"})})
	return exampleObject{{"error", detail}}
}

// errorName is the name of the component for the body of error responses.
const errorName = "Error"

// errorSchemas returns the schemas of error responses, by name.
func errorSchemas() map[string]*jsonschema.Schema {
	code := &jsonschema.Schema{Type: "string", Description: "The class of an error."}
	for _, c := range fault.Codes() {
		code.Enum = append(code.Enum, string(c))
	}
	text := func(doc string) *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Description: doc} }
	ref := func(name, doc string) *jsonschema.Schema {
		return &jsonschema.Schema{Ref: schemaPrefix + name, Description: doc}
	}
	return map[string]*jsonschema.Schema{
		"ErrorCode": code,
		"ErrorReason": {
			Type: "object", Description: "A reason of a policy denial.", Required: []string{"code", "message", "remedy"},
			PropertyOrder: []string{"code", "message", "remedy"},
			Properties: map[string]*jsonschema.Schema{
				"code":    text("The reason code."),
				"message": text("The reason for people."),
				"remedy":  text("What the caller can do about it."),
			},
		},
		"ErrorDetail": {
			Type: "object", Description: "An error.", Required: []string{"code", "message", "requestId"},
			PropertyOrder: []string{"code", "message", "reason", "reasons", "field", "permission", "requestId", "details"},
			Properties: map[string]*jsonschema.Schema{
				"code":       ref("ErrorCode", "The error code."),
				"message":    text("The error message for people."),
				"reason":     text("A machine-readable cause, such as RECORD_LOCKED. For a rejected credential: why, if that may be disclosed."),
				"reasons":    {Type: "array", Description: "Why the policies denied the request, most specific reason first.", Items: ref("ErrorReason", "")},
				"field":      text("The invalid field."),
				"permission": text("The permission that the operation requires."),
				"requestId":  text("The request ID."),
				"details":    {Type: "object", Description: "Further information that depends on the code.", AdditionalProperties: &jsonschema.Schema{}},
			},
		},
		errorName: {
			Type: "object", Description: "The body of every error response.", Required: []string{"error"},
			Properties: map[string]*jsonschema.Schema{"error": ref("ErrorDetail", "The error.")},
		},
	}
}
