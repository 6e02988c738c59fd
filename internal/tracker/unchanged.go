package tracker

import (
	"context"

	"parapet/internal/authz"
	"parapet/internal/executor"
)

// authorizeUnchanged decides about the answer to a request that changes nothing.
// Such an answer only shows the record, so it needs the permission to read it: a
// caller who may change a record but not read it must not read it by an empty
// change.
func authorizeUnchanged(ctx context.Context, c *executor.Call, readPermission string, r authz.Resource) error {
	return c.Decide(ctx, readPermission, r)
}
