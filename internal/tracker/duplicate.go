package tracker

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/searchterms"
)

// Two titles are similar if they share at least 60 % of their combined trigrams. This
// is pg_trgm's similarity of the titles in lower case and without punctuation.
const (
	similarityNumerator   = 6
	similarityDenominator = 10
)

// maxComparedTitles is the maximum number of candidate titles that are compared:
// identical titles first, then the newest. It bounds the time in a project with many
// similar titles.
const maxComparedTitles = 500

// maxDuplicates is the maximum number of candidates in an error or an audit entry.
const maxDuplicates = 10

// duplicateCheck is the result of the duplicate check in the audit entry of the created
// task. It contains ids but no titles.
type duplicateCheck struct {
	Outcome    string              `json:"outcome"`
	Overridden bool                `json:"overridden"`
	Candidates []duplicateEvidence `json:"candidates"`
}

type duplicateEvidence struct {
	ID         op.UUID `json:"id"`
	Similarity float64 `json:"similarity"`
}

// The outcomes of the duplicate check.
const (
	duplicateNone  = "NONE"
	duplicateFound = "FOUND"
)

// checkDuplicates returns a DUPLICATE_TASK error if the project has an open task with a
// similar title that the caller can read, unless the caller set allowDuplicate. It
// takes no lock: two concurrent requests can create similar tasks. For sub-tasks, and
// if the check is disabled, it returns nil.
func (s *Service) checkDuplicates(ctx context.Context, c *executor.Call, in *contract.CreateTaskIn, title string, project *projectRow) (*duplicateCheck, error) {
	if s.duplicateCheckDisabled || in.ParentTaskID != "" {
		return nil, nil
	}
	found, err := findSimilarTasks(ctx, c, title, project)
	if err != nil {
		return nil, err
	}
	check := &duplicateCheck{Outcome: duplicateNone, Candidates: []duplicateEvidence{}}
	for _, f := range found {
		check.Outcome = duplicateFound
		check.Candidates = append(check.Candidates, duplicateEvidence{ID: f.ID, Similarity: f.Similarity})
	}
	if len(found) == 0 {
		return check, nil
	}
	if in.AllowDuplicate {
		check.Overridden = true
		return check, nil
	}
	return nil, (&fault.Error{
		Code: fault.CodeDuplicateTask, Field: "title",
		Message: "The project has an open task with a similar title: " + found[0].Key + ". Use it, or create this one with allowDuplicate.",
	}).WithDetails(map[string]any{"candidates": found})
}

type similarRow struct {
	ID     op.UUID
	Number int64
	Title  string
}

// findSimilarTasks returns the open tasks of the project that the caller can read and
// that have a similar title, most similar first.
func findSimilarTasks(ctx context.Context, c *executor.Call, title string, project *projectRow) ([]contract.DuplicateCandidate, error) {
	titleTrigrams := searchterms.Trigrams(searchterms.Words(title))
	query := searchterms.New(c.Tenant).SimilarTitle(title, similarityNumerator, similarityDenominator)
	if query == "" {
		return nil, nil
	}
	f, err := c.Filter(ctx, contract.PermTasksRead, taskColumns)
	if err != nil || f.None() {
		return nil, err
	}
	st := &postgres.Statement{}
	tenant, of := st.Arg(c.Tenant), st.Arg(project.ID)
	st.Add(`
SELECT t.id, t.number, t.title
FROM projects.projects p
JOIN projects.tasks t ON t.tenant_id = `, tenant, ` AND t.project_id = p.id
WHERE p.tenant_id = `, tenant, ` AND p.id = `, of, ` AND t.status_category NOT IN ('DONE', 'CANCELLED')
  AND t.id IN (SELECT hit FROM projects.search_tasks(`, tenant, `, `, of, `, `, st.Arg(query), `::text::tsquery) hit) AND `).Filter(f).Add(`
ORDER BY (t.title = `, st.Arg(title), `::text) DESC, t.number DESC LIMIT `, strconv.Itoa(maxComparedTitles))
	rows, err := postgres.Collect[similarRow](ctx, c.DB, st.SQL(), st.Args()...)
	if err != nil {
		return nil, err
	}
	var found []contract.DuplicateCandidate
	for _, r := range rows {
		shared, union := countOverlap(titleTrigrams, searchterms.Trigrams(searchterms.Words(r.Title)))
		if shared*similarityDenominator < union*similarityNumerator {
			continue
		}
		found = append(found, contract.DuplicateCandidate{
			ID: r.ID, Key: taskKey(project.Prefix, r.Number), Title: r.Title,
			Similarity: math.Round(100*float64(shared)/float64(union)) / 100,
		})
	}
	slices.SortFunc(found, func(a, b contract.DuplicateCandidate) int {
		return cmp.Or(cmp.Compare(b.Similarity, a.Similarity), cmp.Compare(a.ID, b.ID))
	})
	return found[:min(len(found), maxDuplicates)], nil
}

// countOverlap returns the sizes of the intersection and the union of two sorted sets.
func countOverlap(a, b []string) (shared, union int) {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch strings.Compare(a[i], b[j]) {
		case 0:
			shared++
			i++
			j++
		case -1:
			i++
		default:
			j++
		}
	}
	return shared, len(a) + len(b) - shared
}
