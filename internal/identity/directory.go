package identity

import (
	"parapet/internal/authz"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// directoryClassification is the tier of what the directory keeps: it has no other.
const directoryClassification = "UNCLASSIFIED"

// directoryOperations are those on tenants, organisations, users, memberships,
// roles and grants, and those that read the audit log, the decision log, the
// events and the notifications.
func (s *Service) directoryOperations() []op.Bound {
	var all []op.Bound
	all = append(all, s.tenantOperations()...)
	all = append(all, s.organisationOperations()...)
	all = append(all, s.userOperations()...)
	all = append(all, s.membershipOperations()...)
	all = append(all, s.roleOperations()...)
	all = append(all, s.grantOperations()...)
	all = append(all, s.assignmentOperations()...)
	all = append(all, s.recordOperations()...)
	return all
}

// tenantGrants is a resource of the acting tenant that lies in no organisation
// and in no project: only what is held in the whole tenant reaches it.
func tenantResource(c *executor.Call, kind string) authz.Resource {
	return authz.Resource{Type: kind, Tenant: string(c.Tenant), Classification: directoryClassification}
}

// auditChanges is what an audit entry says of a change: ids, codes and names of
// fields, never a secret and never an address.
type auditChanges map[string]any

// withReason adds the reason that a caller gave.
func (ch auditChanges) withReason(reason string) auditChanges {
	if reason != "" {
		ch["reason"] = reason
	}
	return ch
}

// newPage cuts a page out of items, of which one more was asked for than the page
// takes; after gives the cursor that stands behind an item.
func newPage[T any](items []T, limit int, after func(T) string) *op.Page[T] {
	p := &op.Page[T]{Items: items}
	if len(items) > limit {
		p.Items = items[:limit]
		p.NextCursor = after(items[limit-1])
	}
	return p
}

// cursorKeys reads a cursor of two sort keys, the second of which is an id. Both
// are empty at the start.
func cursorKeys(c *executor.Call, o *op.Operation, cursor string) (key string, id op.UUID, err error) {
	keys, err := op.ReadCursor(cursor, o.Name, c.Tenant, 2)
	if err != nil || keys == nil {
		return "", "", err
	}
	id, err = op.ParseUUID(keys[1])
	if err != nil {
		return "", "", invalidCursorError(err)
	}
	return keys[0], id, nil
}

// sortKey is the part of a name that a list is ordered by: 60 characters, so that
// a cursor stays short.
func sortKey(name string) string {
	if r := []rune(name); len(r) > 60 {
		return string(r[:60])
	}
	return name
}

// cursorID reads a cursor that is an id alone.
func cursorID(c *executor.Call, o *op.Operation, cursor string) (op.UUID, error) {
	keys, err := op.ReadCursor(cursor, o.Name, c.Tenant, 1)
	if err != nil || keys == nil {
		return "", err
	}
	id, err := op.ParseUUID(keys[0])
	if err != nil {
		return "", invalidCursorError(err)
	}
	return id, nil
}

// withFilterArgs adds the policy's condition to a statement's arguments.
func withFilterArgs(args postgres.Args, f authz.Filter) postgres.Args {
	f.AddTo(args)
	return args
}
