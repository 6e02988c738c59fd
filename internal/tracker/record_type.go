package tracker

import (
	"parapet/internal/authz"
	"parapet/internal/op"
)

// attribute is what the policies know of a record under one name: the SQL
// expression that a list filters by, and the value of a loaded row.
type attribute[Row any] struct {
	sql   string
	value func(*Row) string
}

// attributes are those of one type. An attribute that is left out is one that no
// record of the type has.
type attributes[Row any] struct {
	// tenant is an SQL expression; a loaded row is one of the call's tenant.
	tenant string

	id, project, organisation, creator, owner, classification attribute[Row]
}

// recordType is the one declaration of a type: the columns of its lists and the
// resource of a loaded row both come from it, so they cannot differ.
type recordType[Row any] struct {
	name       string
	attributes attributes[Row]
	columns    *authz.Columns
}

func newRecordType[Row any](name string, a attributes[Row]) *recordType[Row] {
	columns := map[string]authz.Column{
		"resource.type": authz.Literal(name), "resource.tenant": authz.UUID(a.tenant),
		"resource.classification": authz.Text(a.classification.sql),
	}
	for key, of := range map[string]attribute[Row]{
		"resource.id": a.id, "resource.project": a.project, "resource.organisation": a.organisation,
		"resource.creator": a.creator, "resource.owner": a.owner,
	} {
		if of.sql != "" {
			columns[key] = authz.UUID(of.sql)
		}
	}
	return &recordType[Row]{name, a, authz.NewColumns(columns)}
}

// resource is a loaded row as the policies know it.
func (t *recordType[Row]) resource(tenant op.UUID, r *Row) authz.Resource {
	of := func(a attribute[Row]) string {
		if a.value == nil {
			return ""
		}
		return a.value(r)
	}
	a := &t.attributes
	return authz.Resource{
		Type: t.name, Tenant: string(tenant), ID: of(a.id), Project: of(a.project), Organisation: of(a.organisation),
		Creator: of(a.creator), Owner: of(a.owner), Classification: of(a.classification),
	}
}
