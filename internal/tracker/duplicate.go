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
)

// Two titles are alike where they share at least six tenths of the trigrams that
// either has: pg_trgm's similarity, of titles in lower case and without
// punctuation.
const (
	alikeNumerator   = 6
	alikeDenominator = 10
)

// maxCompared is how many titles that could be alike are compared: the very same one
// and then the newest, so that a project full of titles like it holds nobody up.
const maxCompared = 500

// maxDuplicates is how many candidates a refusal and an audit entry name.
const maxDuplicates = 10

// duplicateCheck is the outcome of the duplicate guard as the audit entry of the
// creation has it: ids, no titles.
type duplicateCheck struct {
	Outcome    string              `json:"outcome"`
	Overridden bool                `json:"overridden"`
	Candidates []duplicateEvidence `json:"candidates"`
}

type duplicateEvidence struct {
	ID         op.UUID `json:"id"`
	Similarity float64 `json:"similarity"`
}

// The outcomes of the duplicate guard.
const (
	duplicateNone  = "NONE"
	duplicateFound = "FOUND"
)

// guardDuplicate refuses a task whose title is like that of one that is open in
// the project and that the caller can read, unless the caller allows it. Nothing
// is locked: of two alike that are created at the same moment, both come to be.
// A sub-task is never asked about; nil is what no probe found.
func (s *Service) guardDuplicate(ctx context.Context, c *executor.Call, in *contract.CreateTaskIn, title string, project *projectRow) (*duplicateCheck, error) {
	if s.duplicateGateDisabled || in.ParentTaskID != "" {
		return nil, nil
	}
	found, err := similarTasks(ctx, c, title, project)
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

// similarTasks gives the open tasks of the project that the caller can read and
// whose titles are like this one, the most similar first.
func similarTasks(ctx context.Context, c *executor.Call, title string, project *projectRow) ([]contract.DuplicateCandidate, error) {
	mine := trigrams(searchWords(title))
	query := termsOf(c.Tenant).alike(title)
	if query == "" {
		return nil, nil
	}
	f, err := c.Filter(ctx, contract.PermTasksRead, taskColumns)
	if err != nil || f.None() {
		return nil, err
	}
	st := &statement{}
	tenant, of := st.arg(c.Tenant), st.arg(project.ID)
	st.add(`
SELECT t.id, t.number, t.title
FROM projects.projects p
JOIN projects.tasks t ON t.tenant_id = `, tenant, ` AND t.project_id = p.id
WHERE p.tenant_id = `, tenant, ` AND p.id = `, of, ` AND t.status_category NOT IN ('DONE', 'CANCELLED')
  AND t.id IN (SELECT hit FROM projects.search_tasks(`, tenant, `, `, of, `, `, st.arg(query), `::text::tsquery) hit) AND `).filter(f).add(`
ORDER BY (t.title = `, st.arg(title), `::text) DESC, t.number DESC LIMIT `, strconv.Itoa(maxCompared))
	rows, err := postgres.Collect[similarRow](ctx, c.DB, st.sql(), st.args...)
	if err != nil {
		return nil, err
	}
	var found []contract.DuplicateCandidate
	for _, r := range rows {
		shared, either := overlap(mine, trigrams(searchWords(r.Title)))
		if shared*alikeDenominator < either*alikeNumerator {
			continue
		}
		found = append(found, contract.DuplicateCandidate{
			ID: r.ID, Key: taskKey(project.Prefix, r.Number), Title: r.Title,
			Similarity: math.Round(100*float64(shared)/float64(either)) / 100,
		})
	}
	slices.SortFunc(found, func(a, b contract.DuplicateCandidate) int {
		return cmp.Or(cmp.Compare(b.Similarity, a.Similarity), cmp.Compare(a.ID, b.ID))
	})
	return found[:min(len(found), maxDuplicates)], nil
}

// overlap counts what two sorted sets share, and what either of them has.
func overlap(a, b []string) (shared, either int) {
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

// alike is the tsquery that every title like this one answers to, and few
// others do; empty for a title without a word. Such a title has at least six
// tenths of these trigrams, so that it can't lack all of any set that is larger
// than the rest: the rarest make that set. The titles in the index may be in
// either of two cases, see lowerASCII.
func (t terms) alike(title string) string {
	var parts []string
	for _, text := range []string{strings.ToLower(title), lowerASCII(title)} {
		set := trigrams(splitWords(text))
		slices.SortStableFunc(set, func(a, b string) int { return cmp.Compare(trigramFrequency(a), trigramFrequency(b)) })
		needed := (len(set)*alikeNumerator + alikeDenominator - 1) / alikeDenominator
		for _, trigram := range set[:min(len(set), len(set)-needed+1)] {
			parts = append(parts, t.term("t", trigram))
		}
	}
	slices.Sort(parts)
	return strings.Join(slices.Compact(parts), " | ")
}

// lettersByFrequency are a space and the letters of English text, the most common
// first. It decides how much is read, never what is found.
const lettersByFrequency = " etaoinsrhldcumfpgwybvkxjqz"

// trigramFrequency grows with how common the characters of a trigram are.
func trigramFrequency(trigram string) int {
	sum := 0
	for _, r := range trigram {
		if i := strings.IndexRune(lettersByFrequency, r); i >= 0 {
			sum += len(lettersByFrequency) - i
		}
	}
	return sum
}
