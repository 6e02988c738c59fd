package identity

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	contract "parapet/internal/contract/identity"
	"parapet/internal/events"
	"parapet/internal/module"
	"parapet/internal/op"
	"parapet/jobs"
)

// Module returns what the module adds to a process.
func (s *Service) Module() module.Module {
	return module.Module{
		Operations: s.Operations(),
		Jobs: []jobs.Job{
			jobs.New(jobs.Settings{}, func(ctx context.Context, a resetLinkArgs) (time.Duration, error) {
				return 0, s.SendReset(ctx, a.Tenant, a.Reset)
			}),
			jobs.New(jobs.Settings{}, func(ctx context.Context, a resetRequestArgs) (time.Duration, error) {
				return 0, s.StartResets(ctx, a.Email)
			}),
		},
		Triggers: []jobs.Trigger{{
			Name: "password resets", Events: []*op.EventType{contract.EventResetStarted, contract.EventResetRequested}, Args: resetArgs,
		}},
		Retention: []jobs.Housekeeper{
			{Name: "sessions", Run: s.PruneSessions}, {Name: "password resets", Run: s.PruneResets},
		},
	}
}

// resetLinkArgs are the arguments of a job that sends the link of one reset. They contain
// no secret, because the link is created when it is sent.
type resetLinkArgs struct {
	Tenant op.UUID `json:"tenant"`
	Reset  op.UUID `json:"reset"`
}

// Kind implements jobs.Args.
func (resetLinkArgs) Kind() string { return "password_reset_link" }

// resetRequestArgs are the arguments of a job that resets each account with an address.
type resetRequestArgs struct {
	Email string `json:"email"`
}

// Kind implements jobs.Args.
func (resetRequestArgs) Kind() string { return "password_reset_request" }

// resetArgs returns the job for an event about a password reset.
func resetArgs(e events.Event) (jobs.Args, error) {
	if e.Type == contract.EventResetRequested.Name {
		// Events of older versions have the address outside of resource.
		var request struct {
			Email    string                `json:"email"`
			Resource contract.ResetRequest `json:"resource"`
		}
		if err := json.Unmarshal(e.Payload, &request); err != nil {
			return nil, err
		}
		return resetRequestArgs{Email: cmp.Or(request.Resource.Email, request.Email)}, nil
	}
	reset, err := op.ParseUUID(e.AggregateID)
	if err != nil {
		return nil, fmt.Errorf("the aggregate is not a reset id: %w", err)
	}
	return resetLinkArgs{Tenant: e.TenantID, Reset: reset}, nil
}
