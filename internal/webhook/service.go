// Package webhook sends the events of a tenant to other systems, as Standard Webhooks describes.
// It is a part of the identity module and uses the tables webhooks and webhook_deliveries of the
// schema events.
//
// It guarantees the following:
//
//   - An event is sent only if the owner of the webhook may read it at that moment: the policies
//     decide before each attempt.
//   - Each matching event is sent at least once, also after a crash, unless the webhook is
//     disabled or all attempts fail. The header webhook-id is the same in each attempt.
//   - A request goes only to an address that was checked after the name was resolved.
//   - A webhook sends one request at a time. A receiver that hangs or floods delays only its own
//     webhook: each tenant has a limited number of workers, a webhook that fails pauses, and no
//     database connection is held during a request.
//   - The secrets are stored encrypted. They are never logged, and returned only when created.
//
// subscriber.go adds the deliveries of new events, job.go sends them, attempt.go makes one
// request, and address.go decides which addresses are allowed.
package webhook

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"time"

	"parapet/internal/authz"
	"parapet/internal/clock"
	"parapet/internal/executor"
	"parapet/internal/module"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/principal"
	"parapet/jobs"
)

// Principals builds the authority of the owners of webhooks.
type Principals interface {
	ForUser(ctx context.Context, tenant, user op.UUID, kind string) (*principal.Principal, error)
	Refresh(ctx context.Context, p *principal.Principal, live principal.LiveState) (*principal.Principal, error)
}

// Deps are the dependencies and settings.
type Deps struct {
	// Executor runs the operations. It must be created for the identity module.
	Executor *executor.Module
	// Pool connects as parapet_identity, Jobs as parapet_jobs.
	Pool, Jobs *postgres.Pool
	Policies   authz.Decider
	Principals Principals
	Clock      clock.Clock
	Log        *slog.Logger
	// EventTypes are the names of all types of events.
	EventTypes []string
	// Secret is API_KEY_JWT_SECRET, from which the key is derived that encrypts secrets.
	// PreviousSecret is API_KEY_JWT_SECRET_PREVIOUS, or empty.
	Secret, PreviousSecret string
	// AllowedNetworks are networks that receivers may be in besides the public internet.
	AllowedNetworks []netip.Prefix
	// Resolver resolves the names of receivers; nil for that of the system.
	Resolver *net.Resolver
	// Roots are the trusted certificates; nil for those of the system.
	Roots *x509.CertPool
}

// Service implements the operations and the delivery of webhooks.
type Service struct {
	deps       Deps
	executor   *executor.Module
	eventTypes []string
	allowed    networks
	vault      *vault
	sender     *sender
	tenants    tenantSlots
	metrics    metrics
}

// New returns the service.
func New(d Deps) (*Service, error) {
	if d.Executor == nil || d.Pool == nil || d.Jobs == nil || d.Policies == nil || d.Principals == nil {
		return nil, errors.New("webhook: executor, pools, policies and principals are required")
	}
	if d.Clock == nil {
		d.Clock = clock.System{}
	}
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	v, err := newVault(d.Secret, d.PreviousSecret)
	if err != nil {
		return nil, err
	}
	return &Service{
		deps: d, executor: d.Executor, eventTypes: d.EventTypes, allowed: d.AllowedNetworks, vault: v,
		sender: newSender(d.AllowedNetworks, d.Resolver, d.Roots),
	}, nil
}

// queue and workers: a job waits for a receiver most of the time, so a process can run many.
const (
	queueName = "webhooks"
	workers   = 32
)

// Module returns what webhooks add to the identity module of a process.
func (s *Service) Module() module.Module {
	return module.Module{
		Operations: slices.Concat(s.webhookOperations(), s.deliveryOperations()),
		Jobs: []jobs.Job{jobs.New(jobs.Settings{Queue: queueName, Workers: workers}, func(ctx context.Context, a sendArgs) (time.Duration, error) {
			return s.Send(ctx, a.Tenant, a.Webhook, a.Number)
		})},
		Triggers:  []jobs.Trigger{{Name: "webhooks", Types: []string{"*"}, Batch: s.enqueue}},
		Retention: []jobs.Housekeeper{{Name: "webhook deliveries", Run: s.PruneDeliveries}},
		Gauges:    s.gauges(),
	}
}

// deliveryRetention is how long finished deliveries are kept.
const deliveryRetention = 30 * 24 * time.Hour

const pruneBatch = 5000

// PruneDeliveries deletes finished deliveries of every tenant that were queued more than
// deliveryRetention before now, and returns their number.
func (s *Service) PruneDeliveries(ctx context.Context, now time.Time) (int64, error) {
	n, err := postgres.DeleteInBatches(ctx, s.deps.Jobs, pruneBatch, pruneDeliveriesSQL, postgres.Args{"before": now.Add(-deliveryRetention), "batch": pruneBatch})
	return n, postgres.MapError(err)
}
