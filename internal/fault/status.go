package fault

import "net/http"

// statuses maps codes to HTTP statuses; Status and FromStatus use it.
func statuses() []struct {
	code   Code
	status int
} {
	return []struct {
		code   Code
		status int
	}{
		{CodeValidation, http.StatusBadRequest},
		{CodeUnauthorized, http.StatusUnauthorized},
		{CodeForbidden, http.StatusForbidden},
		{CodeNotFound, http.StatusNotFound},
		{CodeMethodNotAllowed, http.StatusMethodNotAllowed},
		{CodeConflict, http.StatusConflict},
		{CodeDuplicateTask, http.StatusConflict},
		{CodePrecondition, http.StatusPreconditionFailed},
		{CodePayloadTooLarge, http.StatusRequestEntityTooLarge},
		{CodeUnsupportedMedia, http.StatusUnsupportedMediaType},
		{CodeRateLimited, http.StatusTooManyRequests},
		{CodeInternal, http.StatusInternalServerError},
		{CodeUnavailable, http.StatusServiceUnavailable},
		// Not 503, which proxies and clients retry automatically.
		{CodeOutcomeUnknown, http.StatusInternalServerError},
	}
}

// Codes returns all codes.
func Codes() []Code {
	var codes []Code
	for _, s := range statuses() {
		codes = append(codes, s.code)
	}
	return codes
}

// Status returns the HTTP status of a code; an unknown code is a 500.
func Status(code Code) int {
	for _, s := range statuses() {
		if s.code == code {
			return s.status
		}
	}
	return http.StatusInternalServerError
}

// FromStatus returns the code for the HTTP status of a response without an envelope, such as
// a proxy's.
func FromStatus(status int) Code {
	for _, s := range statuses() {
		if s.status == status {
			return s.code
		}
	}
	switch {
	case status == http.StatusBadGateway || status == http.StatusGatewayTimeout:
		return CodeUnavailable
	case status >= 400 && status < 500:
		return CodeValidation
	default:
		return CodeInternal
	}
}
