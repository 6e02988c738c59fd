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
	"parapet/internal/uid"
)

// maxOption is the length in characters of the longest option of a decision.
const maxOption = 500

// checkOptions gives the options trimmed; never nil.
func checkOptions(given []string) ([]string, error) {
	options := make([]string, 0, len(given))
	for i, o := range given {
		o = strings.TrimSpace(o)
		if o == "" || utf8.RuneCountInString(o) > maxOption {
			return nil, fault.Validation(fmt.Sprintf("options.%d", i), "An option needs 1 to 500 characters after trimming.")
		}
		options = append(options, o)
	}
	return options, nil
}

func (s *Service) markAwaitingDecisionHandler() executor.Handler[contract.MarkAwaitingDecisionIn, contract.DecisionRequest, taskRow] {
	return executor.Handler[contract.MarkAwaitingDecisionIn, contract.DecisionRequest, taskRow]{
		Load: func(ctx context.Context, c *executor.Call, in *contract.MarkAwaitingDecisionIn) (taskRow, authz.Resource, error) {
			// The task is held: its assignee and status stay what was decided on, and
			// of two that raise at once the second finds the first one's request.
			return taskOf(ctx, c, in.ProjectID, in.Task, true)
		},
		Do: s.raiseDecision,
	}
}

func (s *Service) raiseDecision(ctx context.Context, c *executor.Call, in *contract.MarkAwaitingDecisionIn, task taskRow) (*contract.DecisionRequest, error) {
	question := strings.TrimSpace(in.Question)
	if question == "" {
		return nil, fault.Validation("question", "The field question can't be blank.")
	}
	options, err := checkOptions(in.Options)
	if err != nil {
		return nil, err
	}
	acting, err := s.raisingAs(ctx, c, in.Agent, &task)
	if err != nil {
		return nil, err
	}
	open, err := findDecision(ctx, c, openDecisionSQL, &task, nil)
	if err != nil {
		return nil, err
	}
	if open != nil {
		return open.request(&task), nil
	}
	row := &decisionRow{
		ID: uid.New(), Question: question, Options: options, Status: contract.DecisionOpen, RaisedBy: acting,
		SessionID: optional(strings.TrimSpace(in.SessionID)), CreatedAt: c.Now,
	}
	if err := insertDecisionRow(ctx, c, &task, row); err != nil {
		return nil, err
	}
	owner, err := projectOwner(ctx, c, task.ProjectID)
	if err != nil {
		return nil, err
	}
	row.record(c, &task, "decision_request.raised", contract.EventDecisionRaised,
		map[string]any{"options": len(options)}, others(acting, value(owner), task.CreatedBy))
	return row.request(&task), nil
}

// raisingAs is the identity that a request is raised as: the caller, or the agent
// that it speaks for. The policies say whether it may.
func (s *Service) raisingAs(ctx context.Context, c *executor.Call, agent string, task *taskRow) (op.UUID, error) {
	resource := task.resource(c.Tenant)
	if agent == "" {
		return c.Actor.UserID, requireCanRaise(ctx, c, c.Actor.UserID, task.AssigneeID, task.StatusCategory, resource)
	}
	acting, err := s.actingAgent(ctx, c, agent, resource)
	if err != nil {
		return "", err
	}
	return acting, requireCanRaise(ctx, c, acting, task.AssigneeID, task.StatusCategory, resource)
}

// others are the users, each once, without the one who knows already.
func others(knows op.UUID, users ...op.UUID) []op.UUID {
	var list []op.UUID
	for _, u := range users {
		if u != "" && u != knows && !slices.Contains(list, u) {
			list = append(list, u)
		}
	}
	return list
}

func (s *Service) cancelDecisionHandler() executor.Handler[contract.CancelDecisionIn, contract.DecisionRequest, taskRow] {
	return executor.Handler[contract.CancelDecisionIn, contract.DecisionRequest, taskRow]{
		Load: func(ctx context.Context, c *executor.Call, in *contract.CancelDecisionIn) (taskRow, authz.Resource, error) {
			return taskOf(ctx, c, in.ProjectID, in.Task, false)
		},
		Do: func(ctx context.Context, c *executor.Call, in *contract.CancelDecisionIn, task taskRow) (*contract.DecisionRequest, error) {
			row, err := loadDecision(ctx, c, lockDecisionSQL, &task, in.RequestID)
			if err != nil {
				return nil, err
			}
			if err := requireCanCancel(ctx, c, row.RaisedBy, task.resource(c.Tenant)); err != nil {
				return nil, err
			}
			if row.Status != contract.DecisionOpen {
				return row.request(&task), nil
			}
			return row.resolve(ctx, c, &task, contract.DecisionCancelled)
		},
	}
}

func (s *Service) answerDecisionHandler() executor.Handler[contract.AnswerDecisionIn, contract.DecisionRequest, taskRow] {
	return executor.Handler[contract.AnswerDecisionIn, contract.DecisionRequest, taskRow]{
		Load: func(ctx context.Context, c *executor.Call, in *contract.AnswerDecisionIn) (taskRow, authz.Resource, error) {
			return taskOf(ctx, c, in.ProjectID, in.Task, false)
		},
		Do: answerDecision,
	}
}

// answerDecision answers an open request. Of two that come at once the second finds
// the first one's answer, and gives that.
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
		return row.request(&task), nil
	}
	switch {
	case in.Answer != nil:
		answer := strings.TrimSpace(*in.Answer)
		if answer == "" {
			return nil, fault.Validation("answer", "The field answer can't be blank.")
		}
		row.Answer = &answer
	case len(row.Options) == 0:
		return nil, fault.Validation("chosenOptionIndex", "The request has no options to choose from. Give an answer in words.")
	case *in.ChosenOptionIndex >= len(row.Options):
		return nil, fault.Validation("chosenOptionIndex", fmt.Sprintf("The request has the options 0 to %d.", len(row.Options)-1))
	default:
		row.ChosenOption, row.Answer = in.ChosenOptionIndex, &row.Options[*in.ChosenOptionIndex]
	}
	return row.resolve(ctx, c, &task, contract.DecisionAnswered)
}

// resolve ends an open request that is locked: the row, the audit entry and the
// event. The task stays as it is.
func (r *decisionRow) resolve(ctx context.Context, c *executor.Call, task *taskRow, status string) (*contract.DecisionRequest, error) {
	r.Status, r.ResolvedAt, r.ResolvedBy = status, &c.Now, &c.Actor.UserID
	if err := resolveDecision(ctx, c, r); err != nil {
		return nil, err
	}
	action, event := "decision_request.answered", contract.EventDecisionAnswered
	if status == contract.DecisionCancelled {
		action, event = "decision_request.cancelled", contract.EventDecisionCancelled
	}
	r.record(c, task, action, event, map[string]any{"chosenOptionIndex": r.ChosenOption}, others(c.Actor.UserID, r.RaisedBy))
	return r.request(task), nil
}

// record adds the audit entry and the event of a change, which tells notify of
// it. The entry's actor is the caller; raisedBy is the identity that the request
// was raised as.
func (r *decisionRow) record(c *executor.Call, task *taskRow, action, event string, more map[string]any, notify []op.UUID) {
	changes := map[string]any{"taskId": task.ID, "key": task.key(), "projectId": task.ProjectID, "raisedBy": r.RaisedBy}
	for name, v := range more {
		changes[name] = v
	}
	c.Record(executor.AuditEntry{
		Action: action, ResourceType: "decision_request", ResourceID: string(r.ID), Changes: changes, Classification: task.Classification,
	})
	c.Emit(executor.Event{Type: event, AggregateType: "decision_request", AggregateID: r.ID, Payload: r.request(task), Notify: notify})
}

// hydrate puts the decision request that was asked for into the task, or else
// its latest.
func hydrate(ctx context.Context, c *executor.Call, task *taskRow, id op.UUID, shown *contract.Task) error {
	var row *decisionRow
	var err error
	if id != "" {
		row, err = loadDecision(ctx, c, decisionByIDSQL, task, id)
	} else {
		row, err = findDecision(ctx, c, latestDecisionSQL, task, nil)
	}
	if err == nil && row != nil {
		shown.DecisionRequest = row.request(task)
	}
	return err
}
