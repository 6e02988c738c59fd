package authz

// Attribute is what the policies know of a record under one name: the SQL
// expression that a list filters by, and the value of a loaded row. The zero
// Attribute is one that no record of the type has.
type Attribute[Row any] struct {
	sql     string
	literal string
	value   func(*Row) string
}

// NewAttribute takes the SQL expression and the value that the expression has for
// a loaded row, "" for NULL.
func NewAttribute[Row any](sql string, value func(*Row) string) Attribute[Row] {
	return Attribute[Row]{sql: sql, value: value}
}

// FixedAttribute has the same value for every record of the type.
func FixedAttribute[Row any](value string) Attribute[Row] {
	return Attribute[Row]{literal: value, value: func(*Row) string { return value }}
}

// column is where a list finds the attribute; of makes it of an SQL expression.
func (a Attribute[Row]) column(of func(sql string) Column) Column {
	if a.literal != "" {
		return Literal(a.literal)
	}
	return of(a.sql)
}

// of is the attribute of a loaded row.
func (a Attribute[Row]) of(r *Row) string {
	if a.value == nil {
		return ""
	}
	return a.value(r)
}

// Attributes are those of one type. All but the classification are UUIDs. The
// tenant and the classification are required: a record without one is denied.
type Attributes[Row any] struct {
	Tenant, ID, Project, Organisation, Creator, Owner, Classification Attribute[Row]
}

// TenantColumn is the tenant attribute of a type whose rows are loaded by the
// tenant of the request: RecordType.Resource takes it from there.
func TenantColumn[Row any](sql string) Attribute[Row] { return Attribute[Row]{sql: sql} }

// RecordType is the one declaration of a type: the columns of its lists and the
// resource of a loaded row both come from it, so they cannot differ.
type RecordType[Row any] struct {
	name       string
	attributes Attributes[Row]
	columns    *Columns
}

// NewRecordType declares the type of this name, the noun that errors name.
func NewRecordType[Row any](name string, a Attributes[Row]) *RecordType[Row] {
	return &RecordType[Row]{name, a, NewColumns(map[string]Column{
		"resource.type":           Literal(name),
		"resource.tenant":         a.Tenant.column(UUID),
		"resource.id":             a.ID.column(uuidOrAbsent),
		"resource.project":        a.Project.column(uuidOrAbsent),
		"resource.organisation":   a.Organisation.column(uuidOrAbsent),
		"resource.creator":        a.Creator.column(uuidOrAbsent),
		"resource.owner":          a.Owner.column(uuidOrAbsent),
		"resource.classification": a.Classification.column(Text),
	})}
}

func uuidOrAbsent(sql string) Column {
	if sql == "" {
		return Absent()
	}
	return UUID(sql)
}

// Columns are what lists of the type are filtered by: the same value at each call.
func (t *RecordType[Row]) Columns() *Columns { return t.columns }

// Resource is a loaded row as the policies know it. tenant is that of the request;
// a type that declares a tenant of its own rows ignores it.
func (t *RecordType[Row]) Resource(tenant string, r *Row) Resource {
	a := &t.attributes
	if a.Tenant.value != nil {
		tenant = a.Tenant.of(r)
	}
	return Resource{
		Type: t.name, Tenant: tenant, ID: a.ID.of(r), Project: a.Project.of(r), Organisation: a.Organisation.of(r),
		Creator: a.Creator.of(r), Owner: a.Owner.of(r), Classification: a.Classification.of(r),
	}
}
