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

func newDecisionCmds(inv *invocation) []*cobra.Command {
	return []*cobra.Command{
		showRecord(inv, tracker.MarkAwaitingDecision, commandForm[tracker.MarkAwaitingDecisionIn]{
			long: `Raises a decision request on a task: a question that somebody has to answer before
the work goes on. While one is open, a second call gives that same request. You, or
the agent that --agent names, must be the task's assignee, and the task in
progress; status and assignee stay.

Options are separated by commas, or given by several --options.`,
			example: `  pt mark-awaiting-decision APOLLO APOLLO-17 --question "Which engine?" --options "F-1,J-2"
  pt mark-awaiting-decision APOLLO-17 --question - < question.md
  pt mark-awaiting-decision APOLLO-17 --question "Ship it?" --agent agent+builder@acme.example --session-id run-42`,
			flags: []string{"question", "options", "agent", "sessionId"},
		}, showDecision),
		showRecord(inv, tracker.AnswerDecision, commandForm[tracker.AnswerDecisionIn]{
			example: `  pt answer-decision APOLLO-17 --request-id 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --chosen-option-index 0
  pt answer-decision APOLLO-17 --request-id 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --answer "Neither: wait"`,
			flags: []string{"requestId", "chosenOptionIndex", "answer"},
			setup: func(cmd *cobra.Command, _ *tracker.AnswerDecisionIn) { oneOf(cmd, "chosen-option-index", "answer") },
		}, showDecision),
		showRecord(inv, tracker.CancelDecision, commandForm[tracker.CancelDecisionIn]{
			example: `  pt cancel-decision APOLLO-17 --request-id 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f`,
			flags:   []string{"requestId"},
		}, showDecision),
		lists(inv, tracker.ListDecisionRequests, commandForm[tracker.ListDecisionRequestsIn]{
			example: `  pt list-decision-requests APOLLO-17
  pt list-decision-requests APOLLO APOLLO-17 --status open --json --jq '.data[].id'`,
			flags: []string{"status"},
		}, decisionTable),
		newWaitDecisionCmd(inv),
	}
}

var decisionTable = table[tracker.DecisionRequest]{
	empty: "No decision requests.", flex: 1,
	columns: []column[tracker.DecisionRequest]{
		{name: "Status", value: func(r *tracker.DecisionRequest) string { return r.Status }},
		{name: "Question", value: func(r *tracker.DecisionRequest) string { return r.Question }},
		{name: "Answer", value: func(r *tracker.DecisionRequest) string { return r.Answer }, wide: true},
		{name: "Raised", value: func(r *tracker.DecisionRequest) string { return formatTime(r.CreatedAt) }},
		{name: "By", value: func(r *tracker.DecisionRequest) string { return string(r.RaisedBy) }},
		{name: "ID", value: func(r *tracker.DecisionRequest) string { return string(r.ID) }},
	},
}

func showDecision(d *markdown.Doc, r *tracker.DecisionRequest) { writeDecision(d, 1, r) }

// writeDecision shows a decision request. Question, options and answer are text
// that somebody wrote.
func writeDecision(d *markdown.Doc, level int, r *tracker.DecisionRequest) {
	d.Heading(level, "Decision request: "+r.Status)
	d.Field("ID", string(r.ID))
	d.Field("Task", r.TaskKey)
	d.Field("Raised", formatTime(r.CreatedAt)+" by "+string(r.RaisedBy))
	d.Field("Session", r.SessionID)
	if r.ResolvedAt != nil {
		d.Field("Resolved", formatTime(*r.ResolvedAt)+" by "+string(r.ResolvedBy))
	}
	d.Quote(r.Question)
	for i, option := range r.Options {
		d.Field("Option "+strconv.Itoa(i), option)
	}
	if r.Answer != "" {
		d.Heading(level+1, "Answer")
		if r.ChosenOptionIndex != nil {
			d.Field("Option", strconv.Itoa(*r.ChosenOptionIndex))
		}
		d.Quote(r.Answer)
	}
}

// pendingError is the error of a decision that did not come in time.
type pendingError struct{ request *tracker.DecisionRequest }

func (e *pendingError) Error() string {
	return "The decision on " + e.request.TaskKey + " is still pending (request " + string(e.request.ID) + ")."
}

type waitOptions struct {
	inv     *invocation
	call    *call[tracker.GetTaskIn]
	request string
	timeout string
}

// poll is how long one request waits for an answer, and margin how much longer
// its answer may take to come.
const (
	poll   = 50 * time.Second
	margin = 15 * time.Second
	// breath is the least time between two such requests.
	breath = time.Second
)

func newWaitDecisionCmd(inv *invocation) *cobra.Command {
	k, cmd := newCall(inv, tracker.GetTask.Operation, commandForm[tracker.GetTaskIn]{
		name: "wait-decision", short: "Wait until a decision request is answered",
		long: `Waits until a decision request of a task is answered, and prints it. Without
--request-id it is the task's latest one. It waits for as long as --timeout says,
else for as long as it takes; nothing is asked over and over: the service answers
when there is something to tell.

Exit code 0: answered. 8: not answered in time. 2: cancelled. 3: the task has no
decision request.`,
		example: `  pt wait-decision APOLLO-17
  pt wait-decision APOLLO APOLLO-17 --timeout 2h --json --jq .data.answer`,
	})
	o := &waitOptions{inv: inv, call: k}
	cmd.Flags().StringVar(&o.request, "request-id", "", "The decision request's `uuid`; the task's latest one when absent")
	cmd.Flags().StringVar(&o.timeout, "timeout", "", "How long to wait at most, as a `duration` such as 2h; for as long as it takes when absent")
	return inv.runs(cmd, reflect.TypeFor[tracker.DecisionRequest](), o.run)
}

func (o *waitOptions) run(ctx context.Context, args []string) error {
	in := &tracker.WaitDecisionIn{TimeoutSeconds: int(poll / time.Second)}
	var end time.Time
	if o.timeout != "" {
		d, err := time.ParseDuration(o.timeout)
		if err != nil || d <= 0 {
			return usagef("--timeout %q is not a duration such as 2h", o.timeout)
		}
		end = o.inv.Clock.Now().Add(d)
	}
	if o.request != "" {
		id, err := op.ParseUUID(o.request)
		if err != nil {
			return usagef("--request-id: %w", err)
		}
		in.RequestID = id
	}
	c, err := o.call.ready(ctx, args)
	if err != nil {
		return err
	}
	in.ProjectID, in.Task = o.call.in.ProjectID, o.call.in.Task
	var request *tracker.DecisionRequest
	if in.RequestID == "" {
		t, err := callOperation(ctx, c, tracker.GetTask, &o.call.in)
		if err != nil {
			return err
		}
		if t.DecisionRequest == nil {
			return &fault.Error{Code: fault.CodeNotFound, Message: "The task " + t.Key + " has no decision request."}
		}
		request, in.RequestID = t.DecisionRequest, t.DecisionRequest.ID
	}
	if request == nil || request.Status == tracker.DecisionOpen {
		if request, err = o.wait(ctx, in, end); err != nil {
			return err
		}
	}
	if err := o.inv.show(ctx, view{data: request, markdown: func(d *markdown.Doc) { showDecision(d, request) }}); err != nil {
		return err
	}
	if request.Status == tracker.DecisionCancelled {
		o.inv.printNote("The decision request was cancelled: no answer will come.")
		return errNoAnswer
	}
	return nil
}

// wait asks the service to answer when the request is resolved, again each time
// that it gives an open one. What fails in between may be a server that stops:
// it is tried again while there is time.
func (o *waitOptions) wait(ctx context.Context, in *tracker.WaitDecisionIn, end time.Time) (*tracker.DecisionRequest, error) {
	s, err := o.inv.settings()
	if err != nil {
		return nil, err
	}
	s.timeout = poll + margin
	c, err := o.inv.connectWith(s)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	for {
		if !end.IsZero() {
			left := end.Sub(o.inv.Clock.Now())
			in.TimeoutSeconds = int(min(max(left.Round(time.Second), time.Second), poll) / time.Second)
		}
		begun := o.inv.Clock.Now()
		request, err := callOperation(ctx, c, tracker.WaitDecision, in)
		now := o.inv.Clock.Now()
		late := !end.IsZero() && !now.Before(end)
		switch {
		case err == nil && request.Status != tracker.DecisionOpen:
			return request, nil
		case err == nil && late:
			return nil, &pendingError{request}
		case err != nil && (late || !checkPasses(err)):
			return nil, err
		}
		// A server that answers at once is about to stop: it is not to be asked
		// in a busy loop.
		if now.Sub(begun) < breath {
			if err := pause(ctx, breath); err != nil {
				return nil, err
			}
		}
	}
}

// checkPasses tells whether an error may be gone when the same is asked again.
func checkPasses(err error) bool {
	var f *fault.Error
	return errors.As(err, &f) && client.Retryable(f)
}

// pause waits, or ends with the context's error.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
