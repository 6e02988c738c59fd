package identity

import "parapet/internal/op"

// directoryOperations are those on tenants, organisations, users, memberships,
// roles and grants.
func (s *Service) directoryOperations() []op.Bound { return nil }
