package authz

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Recorded is a decision record that Replay evaluates again.
type Recorded struct {
	Rule       string
	Permission string
	Module     string
	// Input is the JSON of MaskedInput.
	Input json.RawMessage
	// Subject is nil if the record has no subject.
	Subject *SubjectSnapshot
}

// Replayed is the result of a replay.
type Replayed struct {
	Decision
	// Incomplete is true if the record omits the part of the input that describes records of
	// other tenants. Replay evaluates the rest: an allow is an allow again, but a denial may
	// become an allow.
	Incomplete bool
}

// Replay evaluates a recorded decision with the policies in use. The same revision gives the
// same result, unless the evaluation had failed (a reason ENGINE_…) or the record is
// incomplete. Replay logs and counts nothing. It returns an error if the record lacks
// necessary data or the snapshot does not match its digest.
func (e *Engine) Replay(ctx context.Context, r Recorded) (Replayed, error) {
	masked, err := r.decodeInput()
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
		decision = Decision{Allow: verdict.Allow, OnBehalfOf: verdict.OnBehalfOf, Hidden: verdict.isHidden(), Reasons: verdict.Reasons}
	}
	if failed != nil {
		return decision, failed
	}
	return decision, nil
}

// replayList binds the filter again, to the same kinds of columns.
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

// RegoInput rebuilds the input of the recorded decision: the logged attributes, and the
// subject of the snapshot as actor. It returns an error for a list, which has no single
// input.
func (r Recorded) RegoInput() (map[string]any, error) {
	masked, err := r.decodeInput()
	if err != nil {
		return nil, err
	}
	if masked.Rows != nil {
		return nil, errors.New("authz: the record of a list has no input; use Replay")
	}
	input := masked.Question
	if r.Rule == entryAllow {
		if masked.Resource == nil {
			return nil, fmt.Errorf("authz: the record of %s contains no resource", r.Rule)
		}
		input = map[string]any{
			"permission": r.Permission, "effect": string(Write), "module": r.Module, "resource": masked.Resource.document(),
		}
		if masked.Effect == Read {
			input["effect"] = string(Read)
		}
	}
	if input == nil {
		return nil, fmt.Errorf("authz: the record of %s contains no input, so it cannot be replayed", r.Rule)
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
		return nil, fmt.Errorf("authz: the record of %s contains no subject snapshot", r.Rule)
	}
	return r.Subject.subject()
}

// decodeInput decodes the input as it was masked for the decision log.
func (r Recorded) decodeInput() (*MaskedInput, error) {
	decoder := json.NewDecoder(strings.NewReader(string(r.Input)))
	decoder.UseNumber()
	var masked MaskedInput
	if err := decoder.Decode(&masked); err != nil {
		return nil, fmt.Errorf("authz: the record of %s: %w", r.Rule, err)
	}
	return &masked, nil
}

// document converts the resource in the same way as Resource.object.
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

// restoreActor replaces the placeholder of maskCustomDecision with the subject.
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
