package authz

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Recorded is what a replay needs of a decision record, as the decision log keeps it.
type Recorded struct {
	Rule       string
	Permission string
	Module     string
	// Input is the JSON of MaskedInput.
	Input json.RawMessage
	// Subject is nil where the record names none.
	Subject *SubjectSnapshot
}

// Replayed is what the policies answer to a recorded decision.
type Replayed struct {
	Decision
	// Incomplete tells that the record leaves out a part of the input, because it says
	// what other tenants have on record. The replay evaluates the rest: what was allowed
	// is allowed again, but a denial may have been for what is left out.
	Incomplete bool
}

// Replay evaluates a recorded decision with the policies in use. The same revision
// gives the same answer, except where the record says that the engine failed (a
// reason ENGINE_…) and where the record is incomplete. Replay records nothing and
// counts nothing. It is an error where the record lacks what a replay needs, and where
// the snapshot does not have its digest.
func (e *Engine) Replay(ctx context.Context, r Recorded) (Replayed, error) {
	masked, err := r.masked()
	if err != nil {
		return Replayed{}, err
	}
	v := e.current.Load()
	out := Replayed{Incomplete: len(masked.Omitted) > 0}
	switch {
	case masked.Rows != nil:
		out.Decision, err = v.replayList(r, masked)
	case r.Rule == entryAllow && masked.Actor == nil:
		out.Decision = Decision{Reasons: []string{ReasonNoActor}}
	default:
		out.Decision, err = v.replayRule(ctx, r)
	}
	out.Revision = v.set.revision
	return out, err
}

func (v *evaluator) replayRule(ctx context.Context, r Recorded) (Decision, error) {
	document, err := r.RegoInput()
	if err != nil {
		return Decision{}, err
	}
	input, err := ast.InterfaceToValue(document)
	if err != nil {
		return Decision{}, fmt.Errorf("authz: replay %s: %w", r.Rule, err)
	}
	var (
		decision Decision
		failed   *failure
	)
	if r.Rule == entryAllow {
		decision, failed = v.decide(ctx, input, true)
	} else {
		var verdict Verdict
		verdict, failed = v.evaluateCustom(ctx, r.Rule, input)
		decision = Decision{Allow: verdict.Allow, OnBehalfOf: verdict.OnBehalfOf, Hidden: verdict.hidden(), Reasons: verdict.Reasons}
	}
	if failed != nil {
		return decision, failed
	}
	return decision, nil
}

// replayList binds the filter again, for rows that keep the attributes as the recorded
// ones did.
func (v *evaluator) replayList(r Recorded, masked *MaskedInput) (Decision, error) {
	subject, err := r.subject()
	if err != nil {
		return Decision{}, err
	}
	value, err := ast.InterfaceToValue(subject)
	if err != nil {
		return Decision{}, fmt.Errorf("authz: replay %s: %w", r.Rule, err)
	}
	object, ok := value.(ast.Object)
	template := v.set.templates[r.Permission]
	if !ok || template == nil {
		return Decision{Reasons: []string{ReasonUndefined}}, nil
	}
	columns := map[string]Column{}
	for name, c := range masked.Rows {
		switch c.Column {
		case columnUUID:
			columns[rowPrefix+name] = UUID(name)
		case columnText:
			columns[rowPrefix+name] = Text(name)
		default:
			columns[rowPrefix+name] = Literal(c.Value)
		}
	}
	bound := template.plan(NewColumns(columns)).bind(newSubject(object, v.set.revision))
	return listDecision(Filter{bound}), nil
}

// RegoInput rebuilds the input that the record's rule was evaluated with: the recorded
// attributes and, as actor, the subject of the snapshot. For a list, which was not
// evaluated for one record, it is an error.
func (r Recorded) RegoInput() (map[string]any, error) {
	masked, err := r.masked()
	if err != nil {
		return nil, err
	}
	if masked.Rows != nil {
		return nil, errors.New("authz: a list has no input of its own; Replay binds its filter again")
	}
	input := masked.Question
	if r.Rule == entryAllow {
		if masked.Resource == nil {
			return nil, fmt.Errorf("authz: the record of %s names no resource", r.Rule)
		}
		input = map[string]any{
			"permission": r.Permission, "effect": string(Write), "module": r.Module, "resource": masked.Resource.document(),
		}
		if masked.Effect == Read {
			input["effect"] = string(Read)
		}
	}
	if input == nil {
		return nil, fmt.Errorf("authz: the record of %s holds no input; records from before snapshots were kept cannot be replayed", r.Rule)
	}
	if masked.Actor == nil {
		return input, nil
	}
	subject, err := r.subject()
	if err != nil {
		return nil, err
	}
	input["actor"] = subject
	restoreActor(input, subject)
	return input, nil
}

func (r Recorded) subject() (any, error) {
	if r.Subject == nil {
		return nil, fmt.Errorf("authz: the record of %s names no subject snapshot", r.Rule)
	}
	return r.Subject.subject()
}

func (r Recorded) masked() (*MaskedInput, error) {
	decoder := json.NewDecoder(strings.NewReader(string(r.Input)))
	decoder.UseNumber()
	var masked MaskedInput
	if err := decoder.Decode(&masked); err != nil {
		return nil, fmt.Errorf("authz: the record of %s: %w", r.Rule, err)
	}
	return &masked, nil
}

// document is the resource as Resource.object gives it.
func (m *MaskedResource) document() map[string]any {
	d := map[string]any{"type": m.Type}
	for key, text := range map[string]string{
		"id": m.ID, "tenant": m.Tenant, "organisation": m.Organisation, "project": m.Project,
		"creator": m.Creator, "owner": m.Owner, "classification": m.Classification,
	} {
		if text != "" {
			d[key] = text
		}
	}
	if m.Classification == "" && m.NullClassification {
		d["classification"] = nil
	}
	return d
}

// restoreActor puts the subject where maskCustomDecision left a mark for it.
func restoreActor(value, subject any) {
	switch v := value.(type) {
	case map[string]any:
		for key, member := range v {
			if key == callerKey && member == actorPlaceholder {
				v[key] = subject
			} else if key != "actor" {
				restoreActor(member, subject)
			}
		}
	case []any:
		for _, item := range v {
			restoreActor(item, subject)
		}
	}
}
