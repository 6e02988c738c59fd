package identity

import (
	"parapet/internal/authz"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// directoryClassification is the classification of all records of the directory.
const directoryClassification = "UNCLASSIFIED"

// directoryOperations are the operations on tenants, organisations, users, memberships,
// roles and grants, and on the audit log, the decision log, events and notifications.
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

// tenantResource returns a resource of the current tenant outside any organisation or
// project. A permission for it must be held in the whole tenant.
func tenantResource(c *executor.Call, kind string) authz.Resource {
	return authz.Resource{Type: kind, Tenant: string(c.Tenant), Classification: directoryClassification}
}

// auditChanges is the content of an audit entry: ids, codes and field names, never a secret
// and never an address.
type auditChanges map[string]any

// withReason adds the reason that the caller gave, if any.
func (ch auditChanges) withReason(reason string) auditChanges {
	if reason != "" {
		ch["reason"] = reason
	}
	return ch
}

// cursorKeys parses a cursor with two sort keys, the second of which is an id. Both are
// empty for the first page.
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

// sortKey returns the part of a name that lists are ordered by: 60 characters, so that
// cursors stay short.
func sortKey(name string) string {
	if r := []rune(name); len(r) > 60 {
		return string(r[:60])
	}
	return name
}

// cursorID parses a cursor that contains an id only.
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

// withFilterArgs adds the arguments of the policy's filter to a statement's arguments.
func withFilterArgs(args postgres.Args, f authz.Filter) postgres.Args {
	f.AddTo(args)
	return args
}
