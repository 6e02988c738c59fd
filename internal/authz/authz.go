// Package authz decides. It holds the compiled policies, asks them, and turns
// the rule that decides about one record into the WHERE clause that decides
// about many. It is the only importer of OPA.
//
// What it promises:
//
//   - Only the boolean true allows. An error, an undefined result, a result of
//     another type and a time-out deny, each with a reason code of its own, and
//     are counted.
//   - One rule gives the decision and the filter; a rule that does not
//     translate into SQL is refused when the policies are loaded.
//   - The policies in use change as a whole, by Reload, or not at all. The
//     revision (a hash of their content) is part of every answer.
//   - Every decision goes to the decision log, masked; the log never makes a
//     decision wait.
//
// Nothing in this package is policy: which role, scope, tier or token may do
// what is said in the folder policies alone.
package authz

import (
	"context"
	"log/slog"
	"time"

	"parapet/internal/clock"
	"parapet/internal/fault"
)

// Config is what an Engine is made of. The zero value works: embedded policies,
// no decision log, the system's clock.
type Config struct {
	// Source holds the policies; the zero Source is the embedded ones.
	Source Source
	// Sink takes the decision log; nil drops it.
	Sink DecisionSink
	// Clock tells the time for the decision log; nil is the system's.
	Clock clock.Clock
	// Timeout bounds one evaluation; zero is DefaultTimeout.
	Timeout time.Duration
	// PublicKey verifies the signature of every set that is not embedded; empty requires
	// none. See Sign.
	PublicKey string
	// OnReload gets the outcome of every Reload before a good set takes effect. Where it
	// returns an error, the set is rejected.
	OnReload func(context.Context, ReloadOutcome) error
	// Logger hears of failed evaluations and reloads; nil is slog.Default.
	Logger *slog.Logger
}

// DefaultTimeout bounds one evaluation where Config does not say otherwise. An
// evaluation takes tens of microseconds: this is the bound of a machine in
// trouble, not a budget.
const DefaultTimeout = time.Second

// Effect tells whether an operation changes anything.
type Effect string

// The two effects.
const (
	Read  Effect = "read"
	Write Effect = "write"
)

// Resource is the record that a decision is about, as its loader knows it. An
// empty field is left out of the input: the rules treat it as missing, and
// what is missing never allows.
type Resource struct {
	// Type is a noun such as "task"; it does not decide, it is logged.
	Type string
	// ID identifies the record in the decision log.
	ID string
	// Key is what a request named the record by, such as TASK-7, where the record was
	// not loaded. It is for the decision log alone: the policies do not see it.
	Key string
	// Tenant is the tenant that the record belongs to.
	Tenant string
	// Organisation and Project are the scopes that hold the record. For an
	// organisation and for a project itself they are its own id.
	Organisation string
	Project      string
	// Creator and Owner are user ids; a permission held as .own needs one of
	// them to be the actor.
	Creator string
	Owner   string
	// Classification is the record's tier. A loader always sets it
	// ("UNCLASSIFIED" where the type has none); a missing one denies.
	Classification string
	// NullClassification says that the stored classification is NULL, which
	// only audit entries may be; it is ignored where Classification is set.
	NullClassification bool
}

// Input asks whether Actor may do what Permission names with Resource.
type Input struct {
	Permission string
	Effect     Effect
	// Module is the module whose operation asks.
	Module   string
	Actor    *Subject
	Resource Resource
	// RequestID ties the decision log to the request.
	RequestID string
}

// Decision is the answer. Hidden says that the actor may not even know of the
// resource (another tenant's, or above its clearance), so that the answer to
// the caller is that it does not exist.
type Decision struct {
	Allow bool
	// OnBehalfOf is set where the actor is allowed only through a delegation.
	OnBehalfOf *OnBehalf
	Hidden     bool
	Reasons    []string
	// Explained are the reasons in the policies' words, for whoever was denied. Of a
	// hidden resource nothing is said.
	Explained []fault.Reason
	Revision  string
}

// Reason codes that the engine gives itself, when a rule gave no answer. The
// policies' own reasons are in lower case; see policies/README.md.
const (
	ReasonNoActor   = "ENGINE_NO_ACTOR"
	ReasonError     = "ENGINE_ERROR"
	ReasonUndefined = "ENGINE_UNDEFINED"
	ReasonType      = "ENGINE_WRONG_TYPE"
	ReasonTimeout   = "ENGINE_TIMEOUT"
)

// Decider is what a caller of decisions needs; *Engine is one.
type Decider interface {
	Subject(ctx context.Context, in SubjectInput) (*Subject, error)
	Decide(ctx context.Context, in Input) (Decision, error)
	Filter(ctx context.Context, permission string, actor *Subject, columns *Columns) (Filter, error)
	Evaluate(ctx context.Context, q CustomDecision) (Verdict, error)
}
