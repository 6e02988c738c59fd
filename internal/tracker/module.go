package tracker

import (
	"parapet/internal/module"
	"parapet/jobs"
)

// Module returns what the module adds to a process.
func (s *Service) Module() module.Module {
	return module.Module{
		Operations:  s.Operations(),
		Subscribers: s.Subscribers(),
		Jobs:        s.runs.Jobs(),
		Triggers:    s.runs.Triggers(),
		Maintenance: []jobs.Housekeeper{{Name: "expired leases", Run: s.ReturnExpiredLeases}},
		Cron:        s.runs.Cron(),
		Gauges: []module.Gauge{{
			Name: "parapet_wait_decision_calls", Help: "Calls of wait-decision that wait for an answer.",
			Value: func() float64 { return float64(s.WaitDecisionCalls()) },
		}},
		EndWaits: s.EndWaits,
	}
}
