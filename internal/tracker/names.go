package tracker

import (
	"context"
	"fmt"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// Names returns the names of the module's records. pool connects as parapet_tracker.
func Names(pool *postgres.Pool) executor.Names {
	return executor.Names{Pool: pool, Records: []executor.NamedRecords{
		projectNames(),
		initiativeNames(),
		{
			Kind: op.KindTask, Permission: contract.PermTasksRead, Columns: taskColumns,
			ID: "t.id", Key: "p.prefix || '-' || t.number", Name: "t.title",
			From:  `projects.tasks t JOIN projects.projects p ON p.tenant_id = t.tenant_id AND p.id = t.project_id WHERE t.tenant_id = $1`,
			Match: `p.prefix = $2 AND t.number = $3`, Parse: parseName,
		},
		{
			Kind: op.KindIssue, Permission: contract.PermIssuesRead, Columns: issueColumns,
			ID: "i.id", Key: "i.prefix || '-' || i.number", Name: "i.title",
			From:  `projects.issues i JOIN projects.projects p ON p.tenant_id = i.tenant_id AND p.id = i.project_id WHERE i.tenant_id = $1`,
			Match: `i.prefix = $2 AND i.number = $3`, Parse: parseName,
		},
		{
			Kind: op.KindStage, Permission: contract.PermStagesRead, Columns: projectColumns,
			ID: "s.id", Name: "s.name",
			From: `projects.stages s JOIN projects.projects p ON p.tenant_id = s.tenant_id AND p.id = s.project_id WHERE s.tenant_id = $1`,
		},
		{
			Kind: op.KindDeliverable, Permission: contract.PermDeliverablesRead, Columns: deliverableColumns,
			ID: "d.id", Name: "d.title",
			From: `projects.deliverables d JOIN projects.projects p ON p.tenant_id = d.tenant_id AND p.id = d.project_id WHERE d.tenant_id = $1`,
		},
	}}
}

func projectNames() executor.NamedRecords {
	return executor.NamedRecords{
		Kind: op.KindProject, Permission: contract.PermProjectsRead, Columns: projectColumns,
		ID: "p.id", Key: "p.prefix", Name: "p.name", From: `projects.projects p WHERE p.tenant_id = $1`,
		Match: `p.prefix = upper($2) OR p.sort_name = lower($2)`, PartialMatch: `position(lower($2) IN p.sort_name) > 0`,
	}
}

func initiativeNames() executor.NamedRecords {
	return executor.NamedRecords{
		Kind: op.KindInitiative, Permission: contract.PermInitiativesRead, Columns: initiativeColumns,
		ID: "i.id", Name: "i.name", From: `projects.initiatives i WHERE i.tenant_id = $1`,
		Match: `i.sort_name = lower($2)`, PartialMatch: `position(lower($2) IN i.sort_name) > 0`,
	}
}

// findByHint returns the id of the record that a hint identifies by its id, else by its full
// name or its prefix, else by part of its name. It returns a conflict with the candidates if
// several records match equally well. Only records that the caller may read count; an id is
// returned as it is.
func findByHint[Candidate any](ctx context.Context, c *executor.Call, names executor.NamedRecords, hint string, toCandidate func(op.Reference) Candidate) (op.UUID, error) {
	if id, err := op.ParseUUID(hint); err == nil {
		return id, nil
	}
	found, err := names.Find(ctx, c, hint)
	switch {
	case err != nil:
		return "", err
	case len(found) == 0:
		return "", fault.NotFound(string(names.Kind))
	case len(found) == 1:
		return found[0].ID, nil
	}
	candidates := make([]Candidate, min(len(found), maxCandidates))
	for i := range candidates {
		candidates[i] = toCandidate(found[i])
	}
	return "", fault.Conflict(fmt.Sprintf("The hint matches at least %d %s. Use %s.", len(candidates), op.Plural(string(names.Kind)), names.Kind.Choices())).
		WithDetails(map[string]any{"candidates": candidates})
}

// maxCandidates is the maximum number of candidates in the conflict for an ambiguous hint.
const maxCandidates = 20

// parseName returns the prefix and the number of the key of a task or issue, or nil.
func parseName(name string) []any {
	ref, ok := parseTaskKey(name)
	if !ok {
		return nil
	}
	return []any{ref.prefix, ref.number}
}
