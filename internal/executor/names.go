package executor

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"parapet/internal/authz"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/principal"
)

// Names are the names of the records of one module.
type Names struct {
	// Pool connects as the module's role.
	Pool    *postgres.Pool
	Records []NamedRecords
}

// NamedRecords says how to look up records of one kind by name and by id. Only records
// that the caller may read are found; another record is like one that does not exist.
type NamedRecords struct {
	Kind op.Kind
	// Permission is the permission to read a record, and Columns the columns of From for
	// the policies.
	Permission string
	Columns    *authz.Columns
	// ID, Key, Name and Email are SQL expressions. Key and Email are empty if the records
	// have none.
	ID, Key, Name, Email string
	// From is the SQL after FROM, up to the condition that selects the records of tenant $1.
	From string
	// Public is an SQL condition for records whose names every member of the tenant may
	// read, besides those that the policies allow. @caller is the caller's id. Empty means
	// none.
	Public string
	// Match is the SQL condition for the records with a name. $2 and the following
	// arguments are what Parse returns. It is empty if only ids identify the records.
	Match string
	// PartialMatch is the SQL condition for the records with $2 in their names. They count
	// only if no record matches and the operation only reads: text must not end up in the
	// wrong record because the right one is hidden. Empty means none.
	PartialMatch string
	// Rank is an SQL expression for the records that match. If several records match, those
	// with the lowest rank count. Empty means that all matches are equal.
	Rank string
	// Parse converts a name to the arguments of Match, or returns nil if it is none. If
	// Parse itself is nil, $2 is the name.
	Parse func(name string) []any
}

// maxCandidates is the maximum number of records that the error about an ambiguous name
// lists.
const maxCandidates = 20

// reader returns a Querier for the tenant of the call: the call's own one for the pool of
// its module, so that the tenant context is checked, or else a new one.
func (c *Call) reader(pool *postgres.Pool) postgres.Querier {
	if pool == c.module.cfg.Pool {
		return c.DB
	}
	return pool.Read(string(c.Tenant), nil)
}

// resolveNames replaces the names in an input by ids, and returns the ids in the order of
// the fields. It runs before the operation's transaction, so no transaction waits for a
// connection of another pool. prepare runs first: a caller who may not use the operation
// learns nothing about names.
func (m *Module) resolveNames(ctx context.Context, o *op.Operation, in any, prepare func(context.Context, *Call) error) ([]op.UUID, error) {
	var fields []*op.UUID
	err := o.VisitNames(in, func(_ op.Field, kind op.Kind, id *op.UUID) error {
		if p := principal.FromContext(ctx); p != nil && kind == op.KindPerson && strings.EqualFold(string(*id), "me") {
			*id = p.UserID
		} else {
			fields = append(fields, id)
		}
		return nil
	})
	if err != nil || len(fields) == 0 {
		return nil, err
	}
	var ids []op.UUID
	err = m.runIn(ctx, o, false, func(ctx context.Context, c *Call) error {
		ids = nil // of an attempt with outdated grants
		if err := prepare(ctx, c); err != nil {
			return err
		}
		var err error
		if ids, err = c.storedNames(ctx); err != nil || len(ids) == len(fields) {
			return err
		}
		ids = nil
		return o.VisitNames(in, func(f op.Field, kind op.Kind, id *op.UUID) error {
			found, err := c.find(ctx, f, kind, string(*id))
			ids = append(ids, found)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		*fields[i] = id
	}
	return ids, nil
}

// find returns the id of the only record with the name.
func (c *Call) find(ctx context.Context, f op.Field, kind op.Kind, name string) (op.UUID, error) {
	var found []op.Reference
	for _, names := range c.module.cfg.Names {
		for i := range names.Records {
			if r := &names.Records[i]; r.Kind == kind && r.Match != "" {
				more, err := r.find(ctx, c, c.reader(names.Pool), name)
				if err != nil {
					return "", err
				}
				found = append(found, more...)
			}
		}
	}
	switch {
	case len(found) == 1:
		return found[0].ID, nil
	case len(found) > 1:
		return "", fault.Conflict(fmt.Sprintf("The field %s is ambiguous: more than one %s is called %s. Use an id or a more precise name.", f.Name, kind, strconv.Quote(name))).
			WithDetails(map[string]any{"field": f.Name, "candidates": found[:min(len(found), maxCandidates)]})
	case f.Source == op.FromPath:
		return "", fault.NotFound(string(kind))
	default:
		return "", fault.Validation(f.Name, fmt.Sprintf("The field %s matches no %s that you can read: %s. Use %s.", f.Name, kind, strconv.Quote(name), kind.Choices()))
	}
}

// Find returns the records of the call's module that match the name best, of those that the
// caller may read: at most maxCandidates+1.
func (r *NamedRecords) Find(ctx context.Context, c *Call, name string) ([]op.Reference, error) {
	return r.find(ctx, c, c.DB, name)
}

func (r *NamedRecords) find(ctx context.Context, c *Call, q postgres.Querier, name string) ([]op.Reference, error) {
	args := []any{name}
	if r.Parse != nil {
		args = r.Parse(name)
	}
	filter, err := r.filter(ctx, c)
	if err != nil || args == nil {
		return nil, err
	}
	args = append([]any{c.Tenant}, args...)
	match, rank := r.Match, cmp.Or(r.Rank, "1")
	if r.PartialMatch != "" && c.operation.Effect == op.Read {
		match, rank = match+` OR `+r.PartialMatch, `CASE WHEN `+match+` THEN `+rank+` END NULLS LAST`
	}
	visible := r.visible(c, filter, &args)
	sql := `SELECT id, key, name, email FROM (SELECT ` + r.columns() + `, rank() OVER (ORDER BY ` + rank + `) AS rank
FROM ` + r.From + ` AND (` + match + `) AND ` + visible + `) found WHERE rank = 1 ORDER BY name, id LIMIT ` + strconv.Itoa(maxCandidates+1)
	return postgres.Collect[op.Reference](ctx, q, sql, args...)
}

// filter returns the condition for the records that the policies allow to read. A module
// that does not check whether delegations are still active ignores them.
func (r *NamedRecords) filter(ctx context.Context, c *Call) (authz.Filter, error) {
	if c.module.cfg.Delegations == nil {
		return c.module.cfg.Engine.OwnFilter(ctx, r.Permission, c.Actor.Subject, r.Columns)
	}
	return c.Filter(ctx, r.Permission, r.Columns)
}

// visible returns the condition for the records that the caller may read, and appends its
// arguments to args.
func (r *NamedRecords) visible(c *Call, filter authz.Filter, args *[]any) string {
	sql, more := filter.Positional(len(*args))
	*args = append(*args, more...)
	if r.Public == "" {
		return sql
	}
	public := r.Public
	if strings.Contains(public, "@caller") {
		*args = append(*args, c.Actor.UserID)
		public = strings.ReplaceAll(public, "@caller", "$"+strconv.Itoa(len(*args))+"::uuid")
	}
	return `(` + sql + ` OR ` + public + `)`
}

func (r *NamedRecords) columns() string {
	return r.ID + ` AS id, ` + cmp.Or(r.Key, "''") + ` AS key, ` + r.Name + ` AS name, ` + cmp.Or(r.Email, "''") + ` AS email`
}

// describe returns the references of the records with these ids, with one query.
func (n *Names) describe(ctx context.Context, c *Call, ids map[op.Kind][]op.UUID) ([]op.Reference, error) {
	args := []any{c.Tenant}
	var parts []string
	for i := range n.Records {
		r := &n.Records[i]
		if ids[r.Kind] == nil {
			continue
		}
		filter, err := r.filter(ctx, c)
		if err != nil {
			return nil, err
		}
		args = append(args, ids[r.Kind])
		wanted := `$` + strconv.Itoa(len(args))
		visible := r.visible(c, filter, &args)
		parts = append(parts, `SELECT `+r.columns()+` FROM `+r.From+` AND `+r.ID+` = ANY(`+wanted+`::uuid[]) AND `+visible)
	}
	return postgres.Collect[op.Reference](ctx, c.reader(n.Pool), strings.Join(parts, "\nUNION ALL\n"), args...)
}

// lookupTimeout limits the lookup of names for an output.
const lookupTimeout = 2 * time.Second

// addReferences adds the references to an output: one query for each module whose
// records the output mentions. It runs after the commit, so it sees the new records and
// holds no locks. If the lookup fails, the output has no references: the operation itself
// has succeeded.
func (m *Module) addReferences(ctx context.Context, c *Call, out any) {
	wanted := make([]map[op.Kind][]op.UUID, len(m.cfg.Names))
	kinds := map[op.UUID]op.Kind{}
	known := map[op.UUID]*op.Reference{}
	c.operation.VisitReferences(out, func(kind op.Kind, id op.UUID, _ **op.Reference) {
		i := slices.IndexFunc(m.cfg.Names, func(n Names) bool { return n.hasKind(kind) })
		if i < 0 || kinds[id] != "" {
			return
		}
		kinds[id] = kind
		if isCached(kind) {
			if r := m.names.get(c.Actor.Subject, id, c.Now); r != nil {
				known[id] = r
				return
			}
		}
		if wanted[i] == nil {
			wanted[i] = map[op.Kind][]op.UUID{}
		}
		wanted[i][kind] = append(wanted[i][kind], id)
	})
	if len(known) < len(kinds) {
		found, err := m.describe(ctx, c, wanted)
		if err != nil {
			m.cfg.Log.WarnContext(ctx, "references are missing in a response", slog.String("operation", c.operation.Name), slog.Any("error", err))
			return
		}
		for id, r := range found {
			known[id] = r
			if isCached(kinds[id]) {
				m.names.put(c.Actor.Subject, r, c.Now)
			}
		}
	}
	c.operation.VisitReferences(out, func(_ op.Kind, id op.UUID, reference **op.Reference) {
		switch r, ok := known[id]; {
		case ok:
			*reference = r
		case kinds[id] != "":
			*reference = &op.Reference{ID: id, Name: op.Redacted}
		}
	})
}

func (n *Names) hasKind(kind op.Kind) bool {
	return slices.ContainsFunc(n.Records, func(r NamedRecords) bool { return r.Kind == kind })
}

// describe asks each module for the references that are wanted from it, all at once.
func (m *Module) describe(ctx context.Context, c *Call, wanted []map[op.Kind][]op.UUID) (map[op.UUID]*op.Reference, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	c.DB, c.Tx = m.cfg.Pool.Read(string(c.Tenant), nil), nil
	results := make([][]op.Reference, len(wanted))
	group, ctx := errgroup.WithContext(ctx)
	for i, ids := range wanted {
		if ids == nil {
			continue
		}
		group.Go(func() error {
			var err error
			results[i], err = m.cfg.Names[i].describe(ctx, c, ids)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	found := map[op.UUID]*op.Reference{}
	for _, list := range results {
		for i := range list {
			found[list[i].ID] = &list[i]
		}
	}
	return found, nil
}
