package authz

// Attribute is one attribute of a record: the SQL expression for the filter of a list, and
// the value of a loaded row. The zero value means that no record of the type has the
// attribute.
type Attribute[Row any] struct {
	sql     string
	literal string
	value   func(*Row) string
}

// NewAttribute takes the SQL expression and a function that returns the value of the
// expression for a loaded row, "" for NULL.
func NewAttribute[Row any](sql string, value func(*Row) string) Attribute[Row] {
	return Attribute[Row]{sql: sql, value: value}
}

// FixedAttribute returns an attribute with the same value for every record of the type.
func FixedAttribute[Row any](value string) Attribute[Row] {
	return Attribute[Row]{literal: value, value: func(*Row) string { return value }}
}

// column returns the column for lists. newColumn creates it from an SQL expression.
func (a Attribute[Row]) column(newColumn func(sql string) Column) Column {
	if a.literal != "" {
		return Literal(a.literal)
	}
	return newColumn(a.sql)
}

// valueOf returns the attribute of a loaded row.
func (a Attribute[Row]) valueOf(r *Row) string {
	if a.value == nil {
		return ""
	}
	return a.value(r)
}

// Attributes are the attributes of one type. All except the classification are UUIDs. Tenant
// and classification are required: a record without one of them is denied.
type Attributes[Row any] struct {
	Tenant, ID, Project, Organisation, Creator, Owner, Classification Attribute[Row]
}

// TenantColumn returns the tenant attribute of a type whose rows are always in the tenant of
// the request. RecordType.Resource then uses that tenant.
func TenantColumn[Row any](sql string) Attribute[Row] { return Attribute[Row]{sql: sql} }

// RecordType declares the attributes of a type once, both for the columns of its lists and
// for the resource of a loaded row, so they cannot differ.
type RecordType[Row any] struct {
	name       string
	attributes Attributes[Row]
	columns    *Columns
}

// NewRecordType declares a type. Errors contain its name, a noun.
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

// Columns returns the columns for lists of the type. The result is the same value for each
// call.
func (t *RecordType[Row]) Columns() *Columns { return t.columns }

// Resource returns the resource of a loaded row. tenant is the tenant of the request; it is
// ignored if the rows have their own tenant.
func (t *RecordType[Row]) Resource(tenant string, r *Row) Resource {
	a := &t.attributes
	if a.Tenant.value != nil {
		tenant = a.Tenant.valueOf(r)
	}
	return Resource{
		Type: t.name, Tenant: tenant, ID: a.ID.valueOf(r), Project: a.Project.valueOf(r), Organisation: a.Organisation.valueOf(r),
		Creator: a.Creator.valueOf(r), Owner: a.Owner.valueOf(r), Classification: a.Classification.valueOf(r),
	}
}
