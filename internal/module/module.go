// Package module defines what a module of the product adds to a server process. A module
// passes one value of Module to package app, which knows nothing else about it.
package module

import (
	"context"
	"slices"

	"parapet/internal/events"
	"parapet/internal/op"
	"parapet/jobs"
)

// Module is a module of the product in one process. Only Operations is required.
type Module struct {
	// Name is the module's name in its contract. Package app sets it.
	Name string
	// Operations are the module's operations with their handlers.
	Operations []op.Bound
	// Subscribers receive the events of all modules.
	Subscribers []events.Subscriber
	// Jobs are the module's background jobs, and Triggers insert them for events.
	Jobs     []jobs.Job
	Triggers []jobs.Trigger
	// Retention deletes old rows of the module every hour.
	Retention []jobs.Housekeeper
	// Maintenance does the module's other regular work every minute.
	Maintenance []jobs.Housekeeper
	// Cron are the work that an external scheduler can start.
	Cron []Cron
	// Gauges are the module's metrics.
	Gauges []Gauge
	// EndWaits, if set, ends requests that wait for something. It is called when the process
	// begins to stop.
	EndWaits func()
}

// Join returns a module with the parts of several packages. The first one gives EndWaits.
func Join(first Module, others ...Module) Module {
	for _, m := range others {
		first.Operations = slices.Concat(first.Operations, m.Operations)
		first.Subscribers = slices.Concat(first.Subscribers, m.Subscribers)
		first.Jobs = slices.Concat(first.Jobs, m.Jobs)
		first.Triggers = slices.Concat(first.Triggers, m.Triggers)
		first.Retention = slices.Concat(first.Retention, m.Retention)
		first.Maintenance = slices.Concat(first.Maintenance, m.Maintenance)
		first.Cron = slices.Concat(first.Cron, m.Cron)
		first.Gauges = slices.Concat(first.Gauges, m.Gauges)
	}
	return first
}

// Cron is work that an external scheduler starts with a request to Path.
type Cron struct {
	// Name is used in logs and metrics.
	Name string
	Path string
	// Run does the work that is due and returns a report, which marshals to JSON.
	Run func(ctx context.Context) (any, error)
}

// Gauge is a metric with the present value of something.
type Gauge struct {
	// Name is the metric's name, which starts with parapet_.
	Name, Help string
	Value      func() float64
}
