package tracker

import (
	"context"

	"parapet/internal/authz"
	"parapet/internal/executor"
)

// authorizeUnchanged authorizes the response to an update that changes nothing. Such a
// response only shows the record, so it requires the read permission: a caller who may
// update a record but not read it must not be able to read it with an empty update.
func authorizeUnchanged(ctx context.Context, c *executor.Call, readPermission string, r authz.Resource) error {
	return c.Decide(ctx, readPermission, r)
}
