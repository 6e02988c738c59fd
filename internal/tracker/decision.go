package tracker

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/gate"
	"parapet/internal/op"
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

func (s *Service) answerDecision() gate.Handler[contract.AnswerDecisionIn, contract.DecisionRequest, taskRow] {
	return gate.Handler[contract.AnswerDecisionIn, contract.DecisionRequest, taskRow]{
		Load: func(ctx context.Context, c *gate.Call, in *contract.AnswerDecisionIn) (taskRow, authz.Resource, error) {
			return taskOf(ctx, c, in.ProjectID, in.Task, false)
		},
		Do: giveAnswer,
	}
}

// giveAnswer answers an open request. Of two that come at once the second finds
// the first one's answer, and gives that.
func giveAnswer(ctx context.Context, c *gate.Call, in *contract.AnswerDecisionIn, task taskRow) (*contract.DecisionRequest, error) {
	if (in.ChosenOptionIndex == nil) == (in.Answer == nil) {
		return nil, fault.Validation("answer", "Give exactly one of chosenOptionIndex and answer.")
	}
	row, err := loadDecision(ctx, c, lockDecisionSQL, &task, in.RequestID)
	if err != nil {
		return nil, err
	}
	if row.Status != contract.DecisionOpen {
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
func (r *decisionRow) resolve(ctx context.Context, c *gate.Call, task *taskRow, status string) (*contract.DecisionRequest, error) {
	r.Status, r.ResolvedAt, r.ResolvedBy = status, &c.Now, &c.Actor.UserID
	if err := resolveDecision(ctx, c, r); err != nil {
		return nil, err
	}
	action, event := "decision_request.answered", contract.EventDecisionAnswered
	if status == contract.DecisionCancelled {
		action, event = "decision_request.cancelled", contract.EventDecisionCancelled
	}
	r.record(c, task, action, event, map[string]any{"chosenOptionIndex": r.ChosenOption})
	return r.request(task), nil
}

// record adds the audit entry and the event of a change. The entry's actor is
// the caller; raisedBy is the identity that it acted as, or for.
func (r *decisionRow) record(c *gate.Call, task *taskRow, action, event string, more map[string]any) {
	changes := map[string]any{"taskId": task.ID, "key": task.key(), "projectId": task.ProjectID, "raisedBy": r.RaisedBy}
	for name, v := range more {
		changes[name] = v
	}
	c.Record(gate.Note{
		Action: action, ResourceType: "decision_request", ResourceID: string(r.ID), Changes: changes, Classification: task.Classification,
	})
	c.Emit(gate.Event{Type: event, AggregateType: "decision_request", AggregateID: r.ID, Payload: r.request(task)})
}

// hydrate puts the decision request that was asked for into the task, or else
// its latest.
func hydrate(ctx context.Context, c *gate.Call, task *taskRow, id op.UUID, shown *contract.Task) error {
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
