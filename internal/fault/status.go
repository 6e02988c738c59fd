package fault

import "net/http"

// statuses is the one table between codes and HTTP; both directions read it.
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
		{CodePayloadTooLarge, http.StatusRequestEntityTooLarge},
		{CodeUnsupportedMedia, http.StatusUnsupportedMediaType},
		{CodeRateLimited, http.StatusTooManyRequests},
		{CodeInternal, http.StatusInternalServerError},
		{CodeUnavailable, http.StatusServiceUnavailable},
		// Not 503, which proxies and clients repeat without being asked.
		{CodeOutcomeUnknown, http.StatusInternalServerError},
	}
}

// Codes lists every code, each once.
func Codes() []Code {
	var codes []Code
	for _, s := range statuses() {
		codes = append(codes, s.code)
	}
	return codes
}

// Status gives the HTTP status of a code; an unknown code is a 500.
func Status(code Code) int {
	for _, s := range statuses() {
		if s.code == code {
			return s.status
		}
	}
	return http.StatusInternalServerError
}

// FromStatus gives the code that an HTTP status stands for, for answers that
// carry no envelope: a proxy's, say.
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
