package tracker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

func (s *Service) decisionOperations() []op.Bound {
	return []op.Bound{
		handle(s, contract.MarkAwaitingDecision, loadTaskToMarkAwaitingDecision, s.raiseDecision),
		handle(s, contract.ListDecisionRequests, loadTaskToReadDecisions, listDecisions),
		handle(s, contract.AnswerDecision, loadTaskToAnswerDecision, answerDecision),
		handle(s, contract.CancelDecision, loadTaskToCancelDecision, cancelDecision),
		s.waitDecision(),
	}
}

// maxOptionLength is the maximum length of a decision's option in characters.
const maxOptionLength = 500

// trimOptions validates the options and returns them trimmed, never nil.
func trimOptions(given []string) ([]string, error) {
	options := make([]string, 0, len(given))
	for i, o := range given {
		o = strings.TrimSpace(o)
		if o == "" || utf8.RuneCountInString(o) > maxOptionLength {
			return nil, fault.Validation(fmt.Sprintf("options.%d", i), "An option must have 1 to 500 characters after trimming.")
		}
		options = append(options, o)
	}
	return options, nil
}

func loadTaskToMarkAwaitingDecision(ctx context.Context, c *executor.Call, in *contract.MarkAwaitingDecisionIn) (taskRow, authz.Resource, error) {
	// The task is locked so that its assignee and status don't change after the
	// policy check, and so that a concurrent call finds the request that this
	// call creates.
	return loadTaskResource(ctx, c, in.ProjectID, in.Task, true)
}

// raiseDecision raises a decision request on the task. A task has at most one open
// request: if there is one, raiseDecision returns it.
func (s *Service) raiseDecision(ctx context.Context, c *executor.Call, in *contract.MarkAwaitingDecisionIn, task taskRow) (*contract.DecisionRequest, error) {
	question := strings.TrimSpace(in.Question)
	if question == "" {
		return nil, fault.Validation("question", "The field question can't be blank.")
	}
	options, err := trimOptions(in.Options)
	if err != nil {
		return nil, err
	}
	acting, err := s.resolveRaiser(ctx, c, in.Agent, &task)
	if err != nil {
		return nil, err
	}
	open, err := findDecision(ctx, c, openDecisionSQL, &task, nil)
	if err != nil {
		return nil, err
	}
	if open != nil {
		return open.toDecisionRequest(&task), nil
	}
	row := &decisionRow{
		ID: uid.New(), Question: question, Options: options, Status: contract.DecisionOpen, RaisedBy: acting,
		SessionID: postgres.NullIfZero(strings.TrimSpace(in.SessionID)), CreatedAt: c.Now,
	}
	if err := insertDecisionRow(ctx, c, &task, row); err != nil {
		return nil, err
	}
	owner, err := loadProjectOwner(ctx, c, task.ProjectID)
	if err != nil {
		return nil, err
	}
	row.record(c, &task, "decision_request.raised", contract.EventDecisionRaised,
		map[string]any{"options": len(options)}, recipientsExcept(acting, postgres.ValueOrZero(owner), task.CreatedBy))
	return row.toDecisionRequest(&task), nil
}

// resolveRaiser returns the user that raises the request: the caller, or the agent
// that the caller acts for. It returns an error if the policies deny this.
func (s *Service) resolveRaiser(ctx context.Context, c *executor.Call, agent string, task *taskRow) (op.UUID, error) {
	resource := task.resource(c.Tenant)
	if agent == "" {
		return c.Actor.UserID, requireCanRaiseDecision(ctx, c, c.Actor.UserID, task.AssigneeID, task.StatusCategory, resource)
	}
	acting, err := s.resolveActingAgent(ctx, c, agent, resource)
	if err != nil {
		return "", err
	}
	return acting, requireCanRaiseDecision(ctx, c, acting, task.AssigneeID, task.StatusCategory, resource)
}

// recipientsExcept returns the distinct, non-empty user ids without the excluded one.
func recipientsExcept(excluded op.UUID, users ...op.UUID) []op.UUID {
	var list []op.UUID
	for _, u := range users {
		if u != "" && u != excluded && !slices.Contains(list, u) {
			list = append(list, u)
		}
	}
	return list
}

func loadTaskToCancelDecision(ctx context.Context, c *executor.Call, in *contract.CancelDecisionIn) (taskRow, authz.Resource, error) {
	return loadTaskResource(ctx, c, in.ProjectID, in.Task, false)
}

func cancelDecision(ctx context.Context, c *executor.Call, in *contract.CancelDecisionIn, task taskRow) (*contract.DecisionRequest, error) {
	row, err := loadDecision(ctx, c, lockDecisionSQL, &task, in.RequestID)
	if err != nil {
		return nil, err
	}
	if err := requireCanCancelDecision(ctx, c, row.RaisedBy, task.resource(c.Tenant)); err != nil {
		return nil, err
	}
	if row.Status != contract.DecisionOpen {
		return row.toDecisionRequest(&task), nil
	}
	return row.resolve(ctx, c, &task, contract.DecisionCancelled)
}

func loadTaskToAnswerDecision(ctx context.Context, c *executor.Call, in *contract.AnswerDecisionIn) (taskRow, authz.Resource, error) {
	return loadTaskResource(ctx, c, in.ProjectID, in.Task, false)
}

// answerDecision answers an open request. Of two concurrent answers the first counts;
// the second call returns the request with the first answer.
func answerDecision(ctx context.Context, c *executor.Call, in *contract.AnswerDecisionIn, task taskRow) (*contract.DecisionRequest, error) {
	if (in.ChosenOptionIndex == nil) == (in.Answer == nil) {
		return nil, fault.Validation("answer", "Give exactly one of chosenOptionIndex and answer.")
	}
	row, err := loadDecision(ctx, c, lockDecisionSQL, &task, in.RequestID)
	if err != nil {
		return nil, err
	}
	if row.Status != contract.DecisionOpen {
		if err := authorizeUnchanged(ctx, c, contract.PermTasksRead, task.resource(c.Tenant)); err != nil {
			return nil, err
		}
		return row.toDecisionRequest(&task), nil
	}
	switch {
	case in.Answer != nil:
		answer := strings.TrimSpace(*in.Answer)
		if answer == "" {
			return nil, fault.Validation("answer", "The field answer can't be blank.")
		}
		row.Answer = &answer
	case len(row.Options) == 0:
		return nil, fault.Validation("chosenOptionIndex", "The request has no options. Give the answer as free text in the field answer.")
	case *in.ChosenOptionIndex >= len(row.Options):
		return nil, fault.Validation("chosenOptionIndex", fmt.Sprintf("chosenOptionIndex must be between 0 and %d.", len(row.Options)-1))
	default:
		row.ChosenOption, row.Answer = in.ChosenOptionIndex, &row.Options[*in.ChosenOptionIndex]
	}
	return row.resolve(ctx, c, &task, contract.DecisionAnswered)
}

// resolve answers or cancels an open request, which the caller has locked: it updates
// the row and adds the audit entry and the event. It does not change the task.
func (r *decisionRow) resolve(ctx context.Context, c *executor.Call, task *taskRow, status string) (*contract.DecisionRequest, error) {
	r.Status, r.ResolvedAt, r.ResolvedBy = status, &c.Now, &c.Actor.UserID
	if err := resolveDecisionRow(ctx, c, r); err != nil {
		return nil, err
	}
	action, event := "decision_request.answered", contract.EventDecisionAnswered
	if status == contract.DecisionCancelled {
		action, event = "decision_request.cancelled", contract.EventDecisionCancelled
	}
	r.record(c, task, action, event, map[string]any{"chosenOptionIndex": r.ChosenOption}, recipientsExcept(c.Actor.UserID, r.RaisedBy))
	return r.toDecisionRequest(task), nil
}

// record adds the audit entry and the event of a change. The event notifies the users
// in notify. The actor of the audit entry is the caller, who may differ from
// raisedBy.
func (r *decisionRow) record(c *executor.Call, task *taskRow, action string, event *op.EventType, details map[string]any, notify []op.UUID) {
	changes := map[string]any{"taskId": task.ID, "key": task.key(), "projectId": task.ProjectID, "raisedBy": r.RaisedBy}
	for name, v := range details {
		changes[name] = v
	}
	c.Record(executor.Change{
		Action: action, Type: "decision_request", ID: r.ID, Classification: task.Classification,
		Details: changes,
		Event:   event, Payload: r.toDecisionRequest(task), Notify: notify,
	})
}

// addDecisionRequest adds a decision request to the task in a response: the one with the
// id, or the task's latest one if id is empty.
func addDecisionRequest(ctx context.Context, c *executor.Call, task *taskRow, id op.UUID, response *contract.Task) error {
	var row *decisionRow
	var err error
	if id != "" {
		row, err = loadDecision(ctx, c, decisionByIDSQL, task, id)
	} else {
		row, err = findDecision(ctx, c, latestDecisionSQL, task, nil)
	}
	if err == nil && row != nil {
		response.DecisionRequest = row.toDecisionRequest(task)
	}
	return err
}
