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

// Cron is work that a scheduler outside asks for, by the installation's secret
// and not by anybody's credential.
type Cron struct {
	// Name stands in log lines and metrics.
	Name string
	Path string
	Run  func(ctx context.Context) (any, error)
}

// MountCron mounts the cron routes behind a secret. Without a secret there are
// none: they answer like any route that is not there.
func (a *API) MountCron(secret string, routes ...Cron) {
	if secret == "" {
		return
	}
	want := sha256.Sum256([]byte(secret))
	for _, r := range routes {
		a.engine.GET(r.Path, func(c *gin.Context) {
			c.Set(operationKey, r.Name)
			if !hasBearerPrefix(c.Request, want) {
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

// hasBearerPrefix tells whether the request's one Authorization header holds the secret.
// Hashes are compared, so that neither its text nor its length shows in the time.
func hasBearerPrefix(r *http.Request, want [sha256.Size]byte) bool {
	headers := r.Header.Values("Authorization")
	if len(headers) != 1 {
		return false
	}
	token, ok := bearer(headers[0])
	got := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1 && ok
}
