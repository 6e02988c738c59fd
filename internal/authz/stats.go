package authz

import "sync/atomic"

// Stats contains the counters of an engine since its start.
type Stats struct {
	Allowed, Denied uint64
	// Failed counts failed evaluations by reason code.
	Failed map[string]uint64
	// Reloads and ReloadFailures count accepted and rejected policy sets.
	Reloads, ReloadFailures uint64
}

type counters struct {
	allowed, denied            atomic.Uint64
	noActor, errors, undefined atomic.Uint64
	wrongType, timeouts        atomic.Uint64
	reloads, reloadFailures    atomic.Uint64
}

func (c *counters) countDecision(allow bool) {
	if allow {
		c.allowed.Add(1)
	} else {
		c.denied.Add(1)
	}
}

func (c *counters) failed(reason string) {
	switch reason {
	case ReasonNoActor:
		c.noActor.Add(1)
	case ReasonUndefined:
		c.undefined.Add(1)
	case ReasonType:
		c.wrongType.Add(1)
	case ReasonTimeout:
		c.timeouts.Add(1)
	default:
		c.errors.Add(1)
	}
}

// Stats returns the counters.
func (e *Engine) Stats() Stats {
	c := &e.counts
	return Stats{
		Allowed: c.allowed.Load(),
		Denied:  c.denied.Load(),
		Failed: map[string]uint64{
			ReasonNoActor:   c.noActor.Load(),
			ReasonError:     c.errors.Load(),
			ReasonUndefined: c.undefined.Load(),
			ReasonType:      c.wrongType.Load(),
			ReasonTimeout:   c.timeouts.Load(),
		},
		Reloads:        c.reloads.Load(),
		ReloadFailures: c.reloadFailures.Load(),
	}
}
