package httpapi

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"parapet/internal/fault"
)

// DisabledRoute is a route that a setting of the server turns off.
type DisabledRoute struct {
	Method, Path string
	// Message names the setting that turns the route on.
	Message string
}

// noRoute answers a request for a path that no route has. Authenticated callers learn which
// setting turns the route on. For others, the route does not exist.
func (a *API) noRoute(c *gin.Context) {
	f := fault.NotFound("route")
	for _, r := range a.off {
		if r.Method == c.Request.Method && matchesPath(r.Path, c.Request.URL.Path) {
			if a.isAuthenticated(c) {
				f.Message = r.Message
			}
			break
		}
	}
	a.writeError(c, f)
}

// isAuthenticated reports whether the request has an active credential, in any tenant.
func (a *API) isAuthenticated(c *gin.Context) bool {
	r := &http.Request{Header: c.Request.Header.Clone()}
	r.Header.Del("X-Act-As-Org")
	cred, err := readCredential(r, "")
	if err == nil {
		_, err = a.authenticate(c, cred)
	}
	return err == nil
}

// matchesPath reports whether a path is one of the route with this pattern, such as
// /api/tasks/{task} or /api/pages/{path...}.
func matchesPath(pattern, path string) bool {
	parts, given := strings.Split(pattern, "/"), strings.Split(path, "/")
	for i, part := range parts {
		switch {
		case strings.HasSuffix(part, "...}"):
			return len(given) > i
		case i >= len(given):
			return false
		case !strings.HasPrefix(part, "{") && part != given[i], part != "" && given[i] == "":
			return false
		}
	}
	return len(parts) == len(given)
}
