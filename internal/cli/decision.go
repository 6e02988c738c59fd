package cli

import (
	"context"
	"errors"
	"reflect"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/client"
	"parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// writeDecision writes a decision request below a heading of the given level.
func writeDecision(d *markdown.Doc, level int, r *tracker.DecisionRequest) {
	d.Heading(level, "Decision request: "+r.Status)
	d.Field("ID", string(r.ID))
	d.Field("Task", r.TaskKey)
	d.Field("Raised", d.Time(r.CreatedAt)+" by "+personName(r.RaisedByUser, r.RaisedBy))
	d.Field("Session", r.SessionID)
	if r.ResolvedAt != nil {
		d.Field("Resolved", d.Time(*r.ResolvedAt)+" by "+personName(r.ResolvedByUser, r.ResolvedBy))
	}
	d.Prose(r.Question)
	for i, option := range r.Options {
		d.Field("Option "+strconv.Itoa(i), option)
	}
	if r.Answer != "" {
		d.Heading(level+1, "Answer")
		if r.ChosenOptionIndex != nil {
			d.Field("Option", strconv.Itoa(*r.ChosenOptionIndex))
		}
		d.Prose(r.Answer)
	}
}

// pendingError is the error for a decision request that nobody answered in time.
type pendingError struct{ request *tracker.DecisionRequest }

func (e *pendingError) Error() string {
	return "The decision request " + string(e.request.ID) + " on " + e.request.TaskKey + " is still pending."
}

type waitOptions struct {
	inv     *invocation
	call    *call
	request string
	timeout string
}

const (
	// pollTimeout is how long the service holds one request open.
	pollTimeout = 50 * time.Second
	// pollMargin is added to pollTimeout for the client's time limit.
	pollMargin = 15 * time.Second
	// minPollInterval is the minimum time between the start of two requests.
	minPollInterval = time.Second
)

// waitDecisionForm is the form of wait-decision. The request is optional, because the task
// has it.
func waitDecisionForm() form {
	return form{
		short: "Wait until a decision request is answered",
		flags: "decisionRequestId=-",
		long: `Wait until a decision request of a task is answered, and print it. The default is the
latest request of the task. The command waits at most --timeout, or without a limit. It
uses long polling: the service responds as soon as the request is answered.

Exit codes: 0 answered, 8 not answered in time, 2 cancelled, 3 the task has no decision
request.`,
		example: `  pt wait-decision APOLLO-17
  pt wait-decision APOLLO APOLLO-17 --timeout 2h --json --jq .data.answer`,
	}
}

func newWaitDecisionCmd(inv *invocation) *cobra.Command {
	k, cmd := newCall(inv, tracker.GetTask.Operation, waitDecisionForm(), "wait-decision")
	o := &waitOptions{inv: inv, call: k}
	cmd.Flags().StringVar(&o.request, "request-id", "", "`uuid` of the decision request (default: the latest one of the task)")
	cmd.Flags().StringVar(&o.timeout, "timeout", "", "Maximum wait, as a `duration` such as 2h (default: no limit)")
	return inv.setRun(cmd, reflect.TypeFor[tracker.DecisionRequest](), o.run)
}

func (o *waitOptions) run(ctx context.Context, args []string) error {
	in := &tracker.WaitDecisionIn{TimeoutSeconds: int(pollTimeout / time.Second)}
	var deadline time.Time
	if o.timeout != "" {
		d, err := parseDuration(o.timeout, time.Second)
		if err != nil {
			return usage(invalidValue("--timeout", o.timeout, err))
		}
		deadline = o.inv.Clock.Now().Add(d)
	}
	if o.request != "" {
		id, err := op.ParseUUID(o.request)
		if err != nil {
			return usagef("--request-id: %w", err)
		}
		in.RequestID = id
	}
	c, err := o.call.prepare(ctx, args)
	if err != nil {
		return err
	}
	task, err := inputOf[tracker.GetTaskIn](o.call)
	if err != nil {
		return err
	}
	in.ProjectID, in.Task = task.ProjectID, task.Task
	var request *tracker.DecisionRequest
	if in.RequestID == "" {
		t, err := callOperation(ctx, c, tracker.GetTask, task)
		if err != nil {
			return err
		}
		if t.DecisionRequest == nil {
			return &fault.Error{Code: fault.CodeNotFound, Message: "The task " + t.Key + " has no decision request."}
		}
		request, in.RequestID = t.DecisionRequest, t.DecisionRequest.ID
	}
	if request == nil || request.Status == tracker.DecisionOpen {
		if request, err = o.wait(ctx, in, deadline); err != nil {
			return err
		}
	}
	if err := o.inv.show(ctx, view{data: request, markdown: func(d *markdown.Doc) { writeDecision(d, 1, request) }}); err != nil {
		return err
	}
	if request.Status == tracker.DecisionCancelled {
		o.inv.printNote("The decision request was cancelled and will not be answered.")
		return errNoAnswer
	}
	return nil
}

// wait polls the service until the request is resolved. It repeats the poll after a
// transient error, because the server may be restarting. It returns a pendingError at the
// deadline; a zero deadline means no limit.
func (o *waitOptions) wait(ctx context.Context, in *tracker.WaitDecisionIn, deadline time.Time) (*tracker.DecisionRequest, error) {
	s, err := o.inv.settings()
	if err != nil {
		return nil, err
	}
	s.timeout = pollTimeout + pollMargin
	c, err := o.inv.connectWith(s)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	for {
		if !deadline.IsZero() {
			left := deadline.Sub(o.inv.Clock.Now())
			in.TimeoutSeconds = int(min(max(left.Round(time.Second), time.Second), pollTimeout) / time.Second)
		}
		start := o.inv.Clock.Now()
		request, err := callOperation(ctx, c, tracker.WaitDecision, in)
		now := o.inv.Clock.Now()
		expired := !deadline.IsZero() && !now.Before(deadline)
		switch {
		case err == nil && request.Status != tracker.DecisionOpen:
			return request, nil
		case err == nil && expired:
			return nil, &pendingError{request}
		case err != nil && (expired || !isRetryable(err)):
			return nil, err
		}
		// A server that shuts down responds immediately. Do not poll it in a busy loop.
		if now.Sub(start) < minPollInterval {
			if err := sleep(ctx, minPollInterval); err != nil {
				return nil, err
			}
		}
	}
}

// isRetryable reports whether the same request may succeed later.
func isRetryable(err error) bool {
	var f *fault.Error
	return errors.As(err, &f) && client.Retryable(f)
}

// sleep waits for d, or returns the context's error if ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
