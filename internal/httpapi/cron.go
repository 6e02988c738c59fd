package httpapi

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"

	"parapet/internal/fault"
)

// Cron is a job that an external scheduler starts. It is authenticated by the secret of the
// installation and not by a user's credential.
type Cron struct {
	// Name is used in logs and metrics.
	Name string
	Path string
	Run  func(ctx context.Context) (any, error)
}

// MountCron mounts the cron routes, which require the secret. If secret is empty, the
// routes do not exist.
func (a *API) MountCron(secret string, routes ...Cron) {
	if secret == "" {
		for _, r := range routes {
			a.off = append(a.off, DisabledRoute{Method: http.MethodGet, Path: r.Path, Message: "The cron route is off on this server. The operator turns it on with CRON_SECRET."})
		}
		return
	}
	want := sha256.Sum256([]byte(secret))
	for _, r := range routes {
		a.engine.GET(r.Path, func(c *gin.Context) {
			c.Set(operationKey, r.Name)
			if !hasSecret(c.Request, want) {
				a.writeError(c, fault.Unauthorized())
				return
			}
			out, err := r.Run(c.Request.Context())
			if err != nil {
				a.writeError(c, err)
				return
			}
			text, err := json.Marshal(out)
			if err != nil {
				a.writeError(c, fault.Internal(err))
				return
			}
			c.Data(http.StatusOK, "application/json", text)
		})
	}
}

// hasSecret reports whether the request has exactly one Authorization header and it contains
// the secret. It compares hashes, so that timing reveals neither text nor length.
func hasSecret(r *http.Request, want [sha256.Size]byte) bool {
	headers := r.Header.Values("Authorization")
	if len(headers) != 1 {
		return false
	}
	token, ok := parseBearer(headers[0])
	got := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1 && ok
}
