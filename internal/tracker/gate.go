package tracker

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/uid"
)

func (s *Service) gateOperations() []op.Bound {
	return []op.Bound{
		changePipeline(s, contract.CreateGate, func(in *contract.CreateGateIn) op.UUID { return in.ProjectID }, createGate),
		changePipeline(s, contract.UpdateGate, func(in *contract.UpdateGateIn) op.UUID { return in.ProjectID }, updateGate),
		changePipeline(s, contract.DeleteGate, func(in *contract.DeleteGateIn) op.UUID { return in.ProjectID }, deleteGate),
		changePipeline(s, contract.ReviewGate, func(in *contract.ReviewGateIn) op.UUID { return in.ProjectID }, reviewGate),
	}
}

func createGate(ctx context.Context, c *executor.Call, in *contract.CreateGateIn, p *pipeline) (*contract.Gate, error) {
	if _, err := p.indexOfStage(in.StageID); err != nil {
		return nil, fault.Validation("stageId", "The project has no such stage.")
	}
	criteria, err := trimGateCriteria(in.Criteria)
	if err != nil {
		return nil, err
	}
	row := gateRow{
		ID: uid.New(), ProjectID: p.project.ID, StageID: in.StageID, Name: strings.TrimSpace(in.Name), Criteria: criteria,
		Status: contract.GatePending, CreatedBy: c.Actor.UserID, CreatedAt: c.Now, UpdatedAt: c.Now,
	}
	if p.gateAfter(in.StageID) != nil {
		return nil, stageConstraints()["gates_stage_once"]
	}
	if err := insertGateRow(ctx, c, &row); err != nil {
		return nil, err
	}
	p.recordGate(c, &row, "gate.created", contract.EventGateCreated, nil, map[string]any{"stageId": row.StageID})
	return p.toGate(&row), nil
}

// maxGateCriterion is the maximum length of a gate's criterion in characters.
const maxGateCriterion = 500

// trimGateCriteria validates the criteria of a gate and returns them trimmed, never nil.
func trimGateCriteria(given []string) ([]string, error) {
	criteria := make([]string, 0, len(given))
	for i, text := range given {
		text = strings.TrimSpace(text)
		at := fmt.Sprintf("criteria.%d", i)
		switch {
		case text == "" || utf8.RuneCountInString(text) > maxGateCriterion:
			return nil, fault.Validation(at, fmt.Sprintf("A criterion must have 1 to %d characters.", maxGateCriterion))
		case slices.Contains(criteria, text):
			return nil, fault.Validation(at, "duplicate criterion")
		}
		criteria = append(criteria, text)
	}
	return criteria, nil
}

func updateGate(ctx context.Context, c *executor.Call, in *contract.UpdateGateIn, p *pipeline) (*contract.Gate, error) {
	row, err := p.findGate(in.GateID)
	if err != nil {
		return nil, err
	}
	var patch op.Patch
	op.SetTrimmed(&patch, "name", &row.Name, in.Name)
	op.Watch(&patch, "criteria", &row.Criteria)
	if in.Criteria.Set {
		if row.Criteria, err = trimGateCriteria(in.Criteria.Or(nil)); err != nil {
			return nil, err
		}
	}
	changed, err := patch.Changed()
	if err != nil {
		return nil, err
	}
	if len(changed) == 0 {
		if err := authorizeUnchanged(ctx, c, contract.PermStagesRead, p.project.resource(c.Tenant)); err != nil {
			return nil, err
		}
		return p.toGate(row), nil
	}
	row.UpdatedAt = c.Now
	if err := updateGateRow(ctx, c, row); err != nil {
		return nil, err
	}
	p.recordGate(c, row, "gate.updated", contract.EventGateUpdated, changed, map[string]any{})
	return p.toGate(row), nil
}

func deleteGate(ctx context.Context, c *executor.Call, in *contract.DeleteGateIn, p *pipeline) (*op.None, error) {
	row, err := p.findGate(in.GateID)
	if err != nil {
		return nil, err
	}
	if err := deleteGateRow(ctx, c, row.ID); err != nil {
		return nil, err
	}
	p.recordGate(c, row, "gate.deleted", contract.EventGateDeleted, nil, map[string]any{"stageId": row.StageID})
	return &op.None{}, nil
}

// reviewGate stores the caller's vote and updates the gate's status. PASS and WAIVE also
// start the next stage in the same transaction; FAIL and HOLD do not change stages.
func reviewGate(ctx context.Context, c *executor.Call, in *contract.ReviewGateIn, p *pipeline) (*contract.GateReviewOutcome, error) {
	if in.Vote == contract.VoteWaive {
		if err := c.Decide(ctx, contract.PermGatesWaive, p.project.resource(c.Tenant)); err != nil {
			return nil, err
		}
	}
	row, err := p.findGate(in.GateID)
	if err != nil {
		return nil, err
	}
	reason := strings.TrimSpace(in.Reason)
	if in.Vote == contract.VoteWaive && reason == "" {
		return nil, fault.Validation("reason", "reason is required when the vote is WAIVE")
	}
	findings, err := row.encodeFindings(in.Criteria)
	if err != nil {
		return nil, err
	}
	review := reviewRow{
		GateID: row.ID, ReviewerID: c.Actor.UserID, ID: uid.New(), Vote: in.Vote, Reason: reason, Criteria: findings, ReviewedAt: c.Now,
	}
	changes := map[string]any{"vote": in.Vote, "stageId": row.StageID, "status": map[string]string{"from": row.Status, "to": gateStatusAfterVote(in.Vote)}}
	if replaced := p.replaceReview(&review); replaced != "" {
		changes["replaced"] = replaced
	}
	if err := putReview(ctx, c, &review); err != nil {
		return nil, err
	}
	row.Status, row.DecidedAt, row.UpdatedAt = gateStatusAfterVote(in.Vote), &c.Now, c.Now
	if err := updateGateRow(ctx, c, row); err != nil {
		return nil, err
	}
	p.recordGate(c, row, "gate.reviewed", contract.EventGateReviewed, []string{"status", "reviews"}, changes)
	out := &contract.GateReviewOutcome{}
	if row.Status == contract.GatePassed {
		if out.Progressed, err = p.startNextStage(ctx, c, row); err != nil {
			return nil, err
		}
	}
	out.Gate = *p.toGate(row)
	return out, nil
}

func gateStatusAfterVote(vote string) string {
	switch vote {
	case contract.VoteFail:
		return contract.GateFailed
	case contract.VoteHold:
		return contract.GateHeld
	default:
		return contract.GatePassed
	}
}

// encodeFindings validates the findings of a vote against the gate's criteria and
// returns them as JSON for storage.
func (r *gateRow) encodeFindings(findings []contract.GateFinding) (json.RawMessage, error) {
	seen := map[string]bool{}
	for i := range findings {
		at := fmt.Sprintf("criteria.%d.criterion", i)
		findings[i].Criterion = strings.TrimSpace(findings[i].Criterion)
		switch text := findings[i].Criterion; {
		case !slices.Contains(r.Criteria, text):
			return nil, fault.Validation(at, "The gate has no such criterion. Give the exact text of one of its criteria.")
		case seen[text]:
			return nil, fault.Validation(at, "duplicate criterion")
		default:
			seen[text] = true
		}
	}
	if findings == nil {
		findings = []contract.GateFinding{}
	}
	return json.Marshal(findings)
}

// replaceReview adds a review to the pipeline. If the reviewer already reviewed the
// gate, it replaces that review, reuses its id and returns its vote.
func (p *pipeline) replaceReview(review *reviewRow) (oldVote string) {
	p.reviews = slices.DeleteFunc(p.reviews, func(r reviewRow) bool {
		isReplaced := r.GateID == review.GateID && r.ReviewerID == review.ReviewerID
		if isReplaced {
			oldVote, review.ID = r.Vote, r.ID
		}
		return isReplaced
	})
	p.reviews = append(p.reviews, *review)
	return oldVote
}

// startNextStage starts the stage after the gate. It returns nil if there is none or if
// it is not planned any more.
func (p *pipeline) startNextStage(ctx context.Context, c *executor.Call, row *gateRow) (*contract.Stage, error) {
	i, err := p.indexOfStage(row.StageID)
	if err != nil || i+1 >= len(p.stages) || p.stages[i+1].Status != contract.StagePlanned {
		return nil, err
	}
	return p.advanceStage(ctx, c, &p.stages[i+1], row)
}

// recordGate adds the audit entry and the event of a change. The audit entry preserves a
// vote that is replaced later.
func (p *pipeline) recordGate(c *executor.Call, r *gateRow, action string, event *op.EventType, changed []string, changes map[string]any) {
	changes["projectId"] = p.project.ID
	if changed != nil {
		changes["fields"] = changed
	}
	c.Record(executor.Change{
		Action: action, Type: "gate", ID: r.ID, Classification: p.project.Classification,
		Fields: changed, Details: changes,
		Event: event, Payload: p.toGate(r),
	})
}
