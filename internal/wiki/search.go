package wiki

import (
	"context"
	"strconv"
	"strings"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/wiki"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/searchterms"
	"parapet/internal/wikipath"
)

// hitRow is a page that matches, with the text around the first word that occurs in it.
type hitRow struct {
	ID             op.UUID
	Path           string
	Title          string
	Classification string
	Version        int
	UpdatedAt      time.Time
	Rank           float32
	Snippet        string
	StartsInside   bool
	EndsInside     bool
}

// The length of a snippet in characters, and the part of it before the first match.
const (
	snippetLength = 240
	snippetBefore = 60
)

// searchPages returns the pages that match, best match first. The cursor contains the rank and
// the id of the last page, and belongs to one search.
func searchPages(ctx context.Context, c *executor.Call, in *contract.SearchPagesIn, f authz.Filter) (*op.Page[contract.PageHit], error) {
	var prefix wikipath.Path
	var err error
	if in.Prefix != "" {
		if prefix, err = parsePath("prefix", in.Prefix); err != nil {
			return nil, err
		}
	}
	query := searchterms.New(c.Tenant).Query(in.Search)
	if query == "" {
		return nil, fault.Validation("search", "The field search must contain a word.")
	}
	list := contract.SearchPages.Name + " " + in.Search + " " + string(prefix)
	after, err := op.ReadCursor(in.Cursor, list, c.Tenant, 2)
	if err != nil {
		return nil, err
	}
	page := &op.Page[contract.PageHit]{Items: []contract.PageHit{}}
	if f.None() {
		return page, nil
	}
	st, err := searchStatement(c, in, query, prefix, after, f)
	if err != nil {
		return nil, err
	}
	rows, err := postgres.Collect[hitRow](ctx, c.DB, st.SQL(), st.Args()...)
	if err != nil {
		return nil, err
	}
	rowPage := op.NewPage(rows, in.Limit, func(last *hitRow) string {
		return op.NewCursor(list, c.Tenant, strconv.FormatFloat(float64(last.Rank), 'g', -1, 32), string(last.ID))
	})
	return op.MapPage(rowPage, func(r *hitRow) contract.PageHit {
		return contract.PageHit{
			ID: r.ID, Path: r.Path, Title: r.Title, Classification: r.Classification, Version: r.Version, UpdatedAt: r.UpdatedAt, Snippet: r.snippet(),
		}
	}), nil
}

// searchStatement returns the query. It reads texts only of the pages that it returns.
func searchStatement(c *executor.Call, in *contract.SearchPagesIn, query string, prefix wikipath.Path, after []string, f authz.Filter) (*postgres.Statement, error) {
	from, to := sortRange(prefix)
	st := &postgres.Statement{}
	tenant := st.Arg(c.Tenant)
	st.Add(`
SELECT h.id, h.path, h.title, h.classification, h.version, h.updated_at, h.rank,
       substr(v.markdown, s.start, `, strconv.Itoa(snippetLength), `) AS snippet,
       s.start > 1 AS starts_inside, length(v.markdown) >= s.start + `, strconv.Itoa(snippetLength), ` AS ends_inside
FROM (SELECT g.id, g.path, g.title, g.classification, g.version, g.updated_at, m.rank
      FROM wiki.search_pages(`, tenant, `, `, st.Arg(query), `::text::tsquery) m
      JOIN wiki.pages g ON g.tenant_id = `, tenant, ` AND g.id = m.page_id
      WHERE g.tenant_id = `, tenant, ` AND g.deleted_at IS NULL AND g.sort_path >= `, st.Arg(from), ` AND g.sort_path < `, st.Arg(to), ` AND `).Filter(f)
	if after != nil {
		rank, err := strconv.ParseFloat(after[0], 32)
		id, idErr := op.ParseUUID(after[1])
		if err != nil || idErr != nil {
			return nil, op.WrongCursor()
		}
		st.Add(` AND (m.rank, g.id) < (`, st.Arg(float32(rank)), `::real, `, st.Arg(id), `::uuid)`)
	}
	return st.Add(`
      ORDER BY m.rank DESC, g.id DESC LIMIT `, strconv.Itoa(in.Limit+1), `) h
JOIN wiki.page_versions v ON v.tenant_id = `, tenant, ` AND v.page_id = h.id AND v.version = h.version
CROSS JOIN LATERAL (
    SELECT greatest(coalesce(min(p.position), 1) - `, strconv.Itoa(snippetBefore), `, 1) AS start
    FROM unnest(`, st.Arg(searchterms.Words(in.Search)), `::text[]) word, LATERAL (SELECT strpos(lower(v.markdown), word) AS position) p
    WHERE p.position > 0) s
ORDER BY h.rank DESC, h.id DESC`), nil
}

// snippet returns the text in one line, with an ellipsis where it is cut.
func (r *hitRow) snippet() string {
	text := strings.Join(strings.Fields(r.Snippet), " ")
	if r.StartsInside {
		text = "…" + text
	}
	if r.EndsInside {
		text += "…"
	}
	return text
}
