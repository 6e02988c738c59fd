// Package authz evaluates the policies. It compiles them, decides about single records, and
// translates the same rule into the WHERE clause of lists. It is the only package that
// imports OPA.
//
// The package guarantees:
//
//   - Only the boolean true allows. An error, an undefined result, a result of another type
//     and a timeout deny, each with its own reason code and counter.
//   - One rule gives both the decision and the filter. A rule that cannot be translated to
//     SQL is rejected when the policies are loaded.
//   - Reload replaces the complete policy set or nothing. Every decision contains the
//     revision, a hash of the set's content.
//   - Every decision is written to the decision log without secrets and free text. The log
//     never delays a decision.
//
// This package contains no policy. The rules and their data are in the folder policies.
package authz

import (
	"context"
	"log/slog"
	"time"

	"parapet/internal/clock"
	"parapet/internal/fault"
)

// Config configures an Engine. The zero value works: embedded policies, no decision log, the
// system clock.
type Config struct {
	// Source contains the policies. The zero value is the embedded set.
	Source Source
	// Sink receives the decision records. If it is nil, they are dropped.
	Sink DecisionSink
	// Clock gives the timestamps of the decision log. Default: the system clock.
	Clock clock.Clock
	// Timeout limits one evaluation. Zero means DefaultTimeout.
	Timeout time.Duration
	// PublicKey verifies the signature of every set that is not embedded. If it is empty, no
	// signature is required. See Sign.
	PublicKey string
	// OnReload is called with the outcome of every Reload, before an accepted set takes
	// effect. If it returns an error, the set is rejected.
	OnReload func(context.Context, ReloadOutcome) error
	// Logger logs failed evaluations and reloads. Default: slog.Default.
	Logger *slog.Logger
}

// DefaultTimeout limits one evaluation if Config.Timeout is zero. An evaluation takes tens
// of microseconds, so only an overloaded machine reaches the limit.
const DefaultTimeout = time.Second

// Effect says whether an operation reads or writes.
type Effect string

// The effects.
const (
	Read  Effect = "read"
	Write Effect = "write"
)

// Resource describes the record that a decision is about. Empty fields are omitted from the
// input. The rules treat them as missing, and a missing field never allows.
type Resource struct {
	// Type is a noun, for example "task". The policies use it only to recognise initiatives.
	Type string
	// ID is the id of the record, for the decision log. The policies compare it only with
	// the initiatives of a delegation.
	ID string
	// Key is the key in the request, for example TASK-7, if the record was not loaded. It is
	// only logged; the policies do not see it.
	Key string
	// Tenant is the tenant of the record.
	Tenant string
	// Organisation and Project are the scopes that contain the record. For an organisation
	// or a project, this includes its own id.
	Organisation string
	Project      string
	// Creator and Owner are user ids. A permission held as .own requires one of them to be
	// the actor.
	Creator string
	Owner   string
	// Classification is the record's tier. A loader always sets it, to "UNCLASSIFIED" if the
	// type has none. A missing classification denies.
	Classification string
	// NullClassification means that the stored classification is NULL, which only audit
	// entries may have. It is ignored if Classification is set.
	NullClassification bool
}

// Input is the input of a decision: may Actor use Permission on Resource?
type Input struct {
	Permission string
	Effect     Effect
	// Module is the module of the operation.
	Module   string
	Actor    *Subject
	Resource Resource
	// RequestID links the decision record to the request.
	RequestID string
}

// Decision is the result of Decide. Hidden means that the resource is not visible to the
// actor (another tenant's, or above its clearance): the caller gets 404.
type Decision struct {
	Allow bool
	// OnBehalfOf is set if only a delegation allows the request.
	OnBehalfOf *OnBehalf
	Hidden     bool
	Reasons    []string
	// Explained contains the messages and remedies of the reasons. It is empty for a hidden
	// resource.
	Explained []fault.Reason
	Revision  string
}

// The reason codes of failed evaluations. The reason codes of the policies are in lower
// case; see policies/README.md.
const (
	ReasonNoActor   = "ENGINE_NO_ACTOR"
	ReasonError     = "ENGINE_ERROR"
	ReasonUndefined = "ENGINE_UNDEFINED"
	ReasonType      = "ENGINE_WRONG_TYPE"
	ReasonTimeout   = "ENGINE_TIMEOUT"
)

// Decider decides about requests for records. *Engine implements it.
type Decider interface {
	Subject(ctx context.Context, in SubjectInput) (*Subject, error)
	Decide(ctx context.Context, in Input) (Decision, error)
	Filter(ctx context.Context, permission string, actor *Subject, columns *Columns) (Filter, error)
	Evaluate(ctx context.Context, q CustomDecision) (Verdict, error)
}
