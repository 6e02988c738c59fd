package postgres

// ValueOrZero returns the value of a nullable column, or the zero value for NULL.
func ValueOrZero[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// NullIfZero returns v as the value of a nullable column: NULL for the zero value.
func NullIfZero[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
