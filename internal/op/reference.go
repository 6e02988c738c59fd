package op

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// Kind is the kind of record that an id in an input or output identifies.
type Kind string

// The kinds of records that have a name.
const (
	KindPerson       Kind = "person"
	KindProject      Kind = "project"
	KindTask         Kind = "task"
	KindIssue        Kind = "issue"
	KindInitiative   Kind = "initiative"
	KindStage        Kind = "stage"
	KindDeliverable  Kind = "deliverable"
	KindRole         Kind = "role"
	KindOrganisation Kind = "organisation"
	KindTenant       Kind = "tenant"
	KindTaxonomyNode Kind = "taxonomy node"
	KindCatalogEntry Kind = "catalog entry"
	KindPage         Kind = "page"
	KindShortlist    Kind = "shortlist"
	// KindScope is the kind of a scopeId. The field scope of the same object says whether
	// it is an organisation or a project.
	KindScope Kind = "scope"
	// KindRecord is the kind of a resourceId or aggregateId. The field resourceType or
	// aggregateType of the same object says what it is. It can be a kind without a name, and
	// the id can be text that is no UUID.
	KindRecord Kind = "record"
)

// kindOfRecord returns the kind of the records with a resource type of audit entries or an
// aggregate type of events. The id of a membership is that of its user.
func kindOfRecord(recordType string) Kind {
	switch recordType {
	case "user", "membership":
		return KindPerson
	case "taxonomy", "taxonomy_node":
		return KindTaxonomyNode
	case "entry", "catalog_entry":
		return KindCatalogEntry
	default:
		return Kind(recordType)
	}
}

// kindsByField maps the name of a field to the kind of record that it identifies. The
// name has the same meaning in every contract; a test fails for an id whose name is
// neither here nor in its list of ids without a name.
var kindsByField = sync.OnceValue(func() map[string]Kind {
	kinds := map[string]Kind{
		"projectId": KindProject, "issueId": KindIssue, "initiativeId": KindInitiative, "stageId": KindStage,
		"deliverableId": KindDeliverable, "roleId": KindRole, "organisationId": KindOrganisation, "scopeId": KindScope,
		"resourceId": KindRecord, "aggregateId": KindRecord,
		"nodeId": KindTaxonomyNode, "parentId": KindTaxonomyNode, "targetNodeId": KindTaxonomyNode, "entryId": KindCatalogEntry, "shortlistId": KindShortlist,
	}
	for kind, fields := range map[Kind][]string{
		KindPerson: {
			"actorId", "addedBy", "agent", "assignee", "authorId", "createdBy", "delegate", "delegator", "holder", "metBy", "onBehalfOf", "owner", "ownerId",
			"raisedBy", "resolvedBy", "reviewedBy", "reviewer", "revokedBy", "serviceUserId", "submittedBy", "updatedBy", "userId",
		},
		KindTask:   {"taskId", "epicId", "parentTaskId", "promotedTaskId"},
		KindTenant: {"tenantId", "homeTenantId", "officeId", "tokenTenantId", "userTenantId"},
	} {
		for _, field := range fields {
			kinds[field] = kind
		}
	}
	return kinds
})

// acceptedNames lists what identifies a record of the kind besides its id. A kind that is
// missing accepts only ids.
var acceptedNames = sync.OnceValue(func() map[Kind]string {
	return map[Kind]string{
		KindPerson:       "email address, integration key, name or me",
		KindProject:      "prefix or name",
		KindTask:         "key",
		KindIssue:        "key",
		KindInitiative:   "name",
		KindRole:         "name",
		KindOrganisation: "name",
		KindTenant:       "slug or name",
		KindScope:        "prefix or name",
		KindTaxonomyNode: "path or name",
		KindCatalogEntry: "title",
		KindShortlist:    "name",
	}
})

// Names lists what identifies a record of the kind besides its id, to follow "id, ": for
// example "prefix or name". It is empty if only an id does.
func (k Kind) Names() string { return acceptedNames()[k] }

// Choices lists the id and the names that identify a record of the kind, for messages: for
// example "an id, prefix or name".
func (k Kind) Choices() string {
	if names := k.Names(); strings.Contains(names, " or ") {
		return "an id, " + names
	}
	return "an id or " + k.Names()
}

// maxName is the maximum length, in characters, of a name in place of an id.
const maxName = 254

// Reference names the record that an id identifies. Outputs have it next to the id.
type Reference struct {
	ID    UUID   `json:"id" doc:"The record's id."`
	Key   string `json:"key,omitempty" doc:"The key of a task or issue, the prefix of a project, the slug of a tenant, or the path of a page."`
	Name  string `json:"name" doc:"The name or title; REDACTED if the caller may not read the record or it no longer exists. Untrusted text."`
	Email string `json:"email,omitempty" doc:"The email address of a person, if it is verified."`
}

// Redacted replaces a name that the caller may not read.
const Redacted = "REDACTED"

// referencePlan lists the references in a type of output.
type referencePlan struct {
	pairs []referencePair
	lists []referenceList
	// nested are the fields that contain references: structs, pointers to them, and
	// slices of them.
	nested []nestedPlan
}

// referencePair is an id and the reference next to it, as indexes of struct fields.
type referencePair struct {
	id, reference int
	kind          Kind
	// kindField is the index of the field that says the kind, for KindScope and KindRecord.
	kindField int
}

// referenceList is a list of ids and the list of references next to it, as indexes of
// struct fields.
type referenceList struct {
	ids, references int
	kind            Kind
}

type nestedPlan struct {
	field int
	plan  *referencePlan
}

// newReferencePlan returns the plan for a struct type, or nil if it contains no
// reference. It returns an error for a reference that belongs to no id. It does not enter
// the types in enclosing again, because such a type is recursive.
func newReferencePlan(t reflect.Type, enclosing ...reflect.Type) (*referencePlan, error) {
	t = elementType(t)
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() || slices.Contains(enclosing, t) {
		return nil, nil //nolint:nilnil // nil is the plan of a type without references
	}
	p := &referencePlan{}
	for i := range t.NumField() {
		sf := t.Field(i)
		if !sf.IsExported() {
			continue
		}
		if sf.Type == reflect.TypeFor[*Reference]() {
			pair, err := newReferencePair(t, i)
			if err != nil {
				return nil, err
			}
			p.pairs = append(p.pairs, pair)
			continue
		}
		if sf.Type == reflect.TypeFor[[]Reference]() {
			list, err := newReferenceList(t, i)
			if err != nil {
				return nil, err
			}
			p.lists = append(p.lists, list)
			continue
		}
		inner, err := newReferencePlan(sf.Type, append(slices.Clone(enclosing), t)...)
		if err != nil {
			return nil, err
		}
		if inner != nil {
			p.nested = append(p.nested, nestedPlan{i, inner})
		}
	}
	if p.pairs == nil && p.lists == nil && p.nested == nil {
		return nil, nil //nolint:nilnil // as above
	}
	return p, nil
}

// newReferencePair finds the id of a reference by name: assigneeUser belongs to
// assignee, project to projectId, resource to resourceId, and scopeRecord to scopeId.
func newReferencePair(t reflect.Type, reference int) (referencePair, error) {
	name := jsonName(t.Field(reference))
	for i := range t.NumField() {
		idName := jsonName(t.Field(i))
		kind := kindsByField()[idName]
		isID := t.Field(i).Type == reflect.TypeFor[UUID]() || kind == KindRecord && t.Field(i).Type.Kind() == reflect.String
		if !isID || ReferenceName(idName) != name {
			continue
		}
		pair := referencePair{id: i, reference: reference, kind: kind}
		if kind == KindScope || kind == KindRecord {
			wanted := "scope"
			if kind == KindRecord {
				wanted = name + "Type"
			}
			pair.kindField = fieldIndex(t, wanted)
			if pair.kindField < 0 {
				return pair, fmt.Errorf("%s: %s needs a field %s", t, idName, wanted)
			}
		}
		return pair, nil
	}
	return referencePair{}, fmt.Errorf("%s: the reference %s belongs to no id", t, name)
}

// newReferenceList finds the list of ids of a list of references by name: projectRecords
// belongs to projects.
func newReferenceList(t reflect.Type, references int) (referenceList, error) {
	name := jsonName(t.Field(references))
	for i := range t.NumField() {
		idsName := jsonName(t.Field(i))
		if t.Field(i).Type == reflect.TypeFor[[]UUID]() && ReferenceListName(idsName) == name {
			return referenceList{ids: i, references: references, kind: kindOfList(idsName)}, nil
		}
	}
	return referenceList{}, fmt.Errorf("%s: the references %s belong to no list of ids", t, name)
}

// kindOfList returns the kind of record that a list of ids with this name identifies, or "".
func kindOfList(name string) Kind {
	switch name {
	case "organisations":
		return KindOrganisation
	case "projects":
		return KindProject
	default:
		return ""
	}
}

// ReferenceListName returns the name of the list of references that belongs to a list of ids:
// projectRecords for projects. It is empty for ids without names.
func ReferenceListName(ids string) string {
	if kindOfList(ids) == "" {
		return ""
	}
	return strings.TrimSuffix(ids, "s") + "Records"
}

// fieldIndex returns the index of the text field with this JSON name, or -1.
func fieldIndex(t reflect.Type, name string) int {
	for i := range t.NumField() {
		if t.Field(i).Type.Kind() == reflect.String && jsonName(t.Field(i)) == name {
			return i
		}
	}
	return -1
}

// ReferenceName returns the name of the reference that belongs to an id: project for
// projectId, assigneeUser for assignee. It is empty for an id without a name.
func ReferenceName(id string) string {
	kind, ok := kindsByField()[id]
	base, hasSuffix := strings.CutSuffix(id, "Id")
	switch {
	case !ok:
		return ""
	case kind == KindScope:
		return "scopeRecord"
	case id == "epicId":
		return "epicTask" // the field epic exists already and has more fields
	case hasSuffix:
		return base
	default:
		return id + "User"
	}
}

// KindOf returns the kind of record that a field with this name identifies, or "" if it
// identifies none.
func KindOf(field string) Kind { return kindsByField()[field] }

// AcceptsName reports whether inputs accept a name in place of an id with this field name.
func AcceptsName(id string) bool { return kindsByField()[id].Names() != "" }

// elementType returns the type without pointers and slices.
func elementType(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

func jsonName(sf reflect.StructField) string {
	name := sf.Tag.Get("json")
	if i := strings.IndexByte(name, ','); i >= 0 {
		name = name[:i]
	}
	return name
}

// VisitReferences calls visit for each id in the output that has a reference and is not
// empty, also in lists of ids. reference points to the reference next to the id. out is a pointer to the
// operation's output type.
func (o *Operation) VisitReferences(out any, visit func(kind Kind, id UUID, reference **Reference)) {
	if o.references != nil {
		o.references.visit(reflect.ValueOf(out), visit)
	}
}

func (p *referencePlan) visit(v reflect.Value, visit func(Kind, UUID, **Reference)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			p.visit(v.Elem(), visit)
		}
		return
	case reflect.Slice:
		for i := range v.Len() {
			p.visit(v.Index(i), visit)
		}
		return
	}
	for _, pair := range p.pairs {
		id := UUID(v.Field(pair.id).String())
		if id == "" {
			continue
		}
		kind := pair.kind
		switch kind {
		case KindScope:
			kind = Kind(v.Field(pair.kindField).String())
		case KindRecord:
			if _, err := ParseUUID(string(id)); err != nil {
				continue
			}
			kind = kindOfRecord(v.Field(pair.kindField).String())
		}
		if reference, ok := v.Field(pair.reference).Addr().Interface().(**Reference); ok {
			visit(kind, id, reference)
		}
	}
	for _, l := range p.lists {
		l.visit(v, visit)
	}
	for _, n := range p.nested {
		n.plan.visit(v.Field(n.field), visit)
	}
}

// visit calls visit for each id of the list. It keeps the references in the order of the ids.
func (l referenceList) visit(v reflect.Value, visit func(Kind, UUID, **Reference)) {
	ids, ok := v.Field(l.ids).Interface().([]UUID)
	if !ok {
		return
	}
	var references []Reference
	for _, id := range ids {
		var r *Reference
		if visit(l.kind, id, &r); r != nil {
			references = append(references, *r)
		}
	}
	v.Field(l.references).Set(reflect.ValueOf(references))
}

// VisitNames calls visit for each field of the input that has a name in place of an id. id
// points to the field. in is a pointer to the operation's input type.
func (o *Operation) VisitNames(in any, visit func(f Field, kind Kind, id *UUID) error) error {
	v := reflect.ValueOf(in).Elem()
	for _, f := range o.Fields {
		if f.Kind == "" {
			continue
		}
		fv := v.Field(f.Index)
		if f.Type != f.Value() {
			fv = fv.FieldByName("Value")
		}
		id, ok := fv.Addr().Interface().(*UUID)
		if !ok || *id == "" {
			continue
		}
		if _, err := ParseUUID(string(*id)); err == nil {
			continue
		}
		kind := f.Kind
		if kind == KindScope {
			kind = Kind(v.FieldByName("Scope").String())
		}
		if err := visit(f, kind, id); err != nil {
			return err
		}
	}
	return nil
}
