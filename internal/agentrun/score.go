package agentrun

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"time"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// scoreBatchSize is the maximum number of runs that one transaction scores.
const scoreBatchSize = 100

// Concurrent scorers skip each other's locked runs.
const lockUnscoredRunsSQL = `
SELECT r.id FROM projects.agent_runs r
WHERE r.tenant_id = @tenant AND r.scoring IS NULL AND r.status IN ('SUCCEEDED', 'FAILED')
ORDER BY r.finished_at, r.id
LIMIT @most
FOR UPDATE SKIP LOCKED`

const scoreRunSQL = `
UPDATE projects.agent_runs r
SET scoring = @scoring, score = @score, score_components = @components, scored_at = @now
WHERE r.tenant_id = @tenant AND r.id = @id`

// Score scores a sample of the finished runs that have not been scored, in every
// tenant with a scoring rate. Whether a run is in the sample depends only on its id
// and the rate, so the result does not depend on how often or where it runs.
func (s *Service) Score(ctx context.Context) (contract.ScoreReport, error) {
	var report contract.ScoreReport
	for _, tenant := range slices.Sorted(maps.Keys(s.Scoring)) {
		report.Tenants++
		for n := scoreBatchSize; n == scoreBatchSize; {
			var scored, skipped int
			err := s.Executor.RunAsSystem(ctx, tenant, func(ctx context.Context, c *executor.Call) (err error) {
				scored, skipped, err = scoreBatch(ctx, c, s.Scoring[tenant])
				return err
			})
			if err != nil {
				return report, err
			}
			n = scored + skipped
			report.Scored, report.Skipped = report.Scored+scored, report.Skipped+skipped
		}
	}
	return report, nil
}

func scoreBatch(ctx context.Context, c *executor.Call, rate float64) (scored, skipped int, err error) {
	ids, err := postgres.CollectScalars[op.UUID](ctx, c.DB, lockUnscoredRunsSQL, postgres.Args{"tenant": c.Tenant, "most": scoreBatchSize})
	if err != nil || len(ids) == 0 {
		return 0, 0, err
	}
	rows, err := postgres.Collect[Row](ctx, c.DB, runsByIDsSQL, postgres.Args{"tenant": c.Tenant, "ids": ids})
	if err != nil {
		return 0, 0, err
	}
	for i := range rows {
		r := &rows[i]
		args := postgres.Args{"tenant": c.Tenant, "id": r.ID, "scoring": "SKIPPED", "score": nil, "components": nil, "now": c.Now}
		if isSampled(r.ID, rate) {
			r.ScoreComponents = scoreComponents(r)
			score := weightedScore(r.ScoreComponents)
			r.Score, r.ScoredAt = &score, &c.Now
			args["scoring"], args["score"], args["components"] = "SCORED", score, r.ScoreComponents
		}
		if _, err := c.DB.Exec(ctx, scoreRunSQL, args); err != nil {
			return 0, 0, err
		}
		if r.Score == nil {
			// Runs outside the sample get no audit entry and no event.
			skipped++
			continue
		}
		recordRun(c, r, "scored", contract.EventRunScored)
		scored++
	}
	return scored, skipped, nil
}

// isSampled reports whether the run is in the sample of this rate. The sample of a
// higher rate includes that of a lower one.
func isSampled(id op.UUID, rate float64) bool {
	sum := sha256.Sum256([]byte("parapet run sample\x00" + string(id)))
	return float64(binary.BigEndian.Uint64(sum[:8]))/math.Exp2(64) < rate
}

// scoreParts returns the components of a score with their weights.
func scoreParts() []scorePart {
	return []scorePart{
		{"completed", 0.4, func(r *Row) float64 { return boolToFloat(r.Status == contract.RunSucceeded) }},
		// The task's current status: work that the agent finished may have been reopened.
		{"landed", 0.3, func(r *Row) float64 {
			switch r.StatusCategory {
			case contract.CategoryDone:
				return 1
			case contract.CategoryReview:
				return 0.8
			case contract.CategoryInProgress:
				return 0.3
			}
			return 0
		}},
		{"reported", 0.1, func(r *Row) float64 { return boolToFloat(r.Summary != nil) }},
		{"steady", 0.1, func(r *Row) float64 { return 1 / float64(max(r.Attempts, 1)) }},
		// The value is 0.5 after promptMinutes.
		{"prompt", 0.1, func(r *Row) float64 {
			if r.StartedAt == nil || r.FinishedAt == nil {
				return 0
			}
			return 1 / (1 + max(r.FinishedAt.Sub(*r.StartedAt), 0).Minutes()/promptMinutes)
		}},
	}
}

// promptMinutes is the duration of an attempt, in minutes, whose "prompt" component is
// 0.5.
const promptMinutes = float64(10*time.Minute) / float64(time.Minute)

type scorePart struct {
	name    string
	weight  float64
	measure func(r *Row) float64
}

func boolToFloat(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// scoreComponents returns the components of a run's score, each from 0 to 1.
func scoreComponents(r *Row) map[string]float64 {
	components := map[string]float64{}
	for _, p := range scoreParts() {
		components[p.name] = roundScore(p.measure(r))
	}
	return components
}

// weightedScore returns the weighted sum of the components.
func weightedScore(components map[string]float64) float64 {
	sum := 0.0
	for _, p := range scoreParts() {
		sum += p.weight * components[p.name]
	}
	return min(roundScore(sum), 1)
}

func roundScore(v float64) float64 { return math.Round(v*1e4) / 1e4 }
