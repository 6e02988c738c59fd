package catalog

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"parapet/internal/authz"
	contract "parapet/internal/contract/catalog"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/searchterms"
)

const (
	// maxRanked is the maximum number of hits of each kind.
	maxRanked = 100
	// rankConstant is the constant k of reciprocal rank fusion: a hit at rank r of a list adds
	// 1/(k+r) to its score. 60 is the usual value.
	rankConstant = 60
	// A title is similar if at least half of the trigrams of both are common.
	similarPart, similarWhole = 1, 2
	// maxExact is the number of embeddings up to which a search compares all of them.
	maxExact = 2000
	// maxCandidates bounds the embeddings that a search compares.
	maxCandidates = 10_000
)

// searchCatalog merges the hits of up to three lists by reciprocal rank fusion.
func searchCatalog(ctx context.Context, c *executor.Call, in *contract.SearchCatalogIn, f authz.Filter) (*contract.SearchResult, error) {
	if strings.TrimSpace(in.Query) == "" && in.Embedding == "" {
		return nil, fault.Validation("query", "Set query, embedding or both.")
	}
	var vector []float32
	if in.Embedding != "" {
		var err error
		if vector, err = parseEmbedding(in.Embedding); err != nil {
			return nil, err
		}
	}
	result := &contract.SearchResult{Items: []contract.CatalogHit{}}
	if f.None() {
		return result, nil
	}
	s := search{c: c, in: in, filter: f}
	if err := s.rankWords(ctx); err != nil {
		return nil, err
	}
	if err := s.rankTitles(ctx); err != nil {
		return nil, err
	}
	if vector != nil {
		if err := s.rankMeaning(ctx, vector); err != nil {
			return nil, err
		}
	}
	var err error
	result.Items, err = s.hits(ctx)
	return result, err
}

// search is one call of searchCatalog.
type search struct {
	c      *executor.Call
	in     *contract.SearchCatalogIn
	filter authz.Filter
	found  map[op.UUID]*rankedHit
}

// rankedHit is an entry with its score and the reasons for it.
type rankedHit struct {
	id      op.UUID
	score   float64
	matches []contract.SearchMatch
}

// add adds a hit at a rank, from 0, of one list.
func (s *search) add(id op.UUID, rank int, match contract.SearchMatch) {
	if s.found == nil {
		s.found = map[op.UUID]*rankedHit{}
	}
	hit := s.found[id]
	if hit == nil {
		hit = &rankedHit{id: id}
		s.found[id] = hit
	}
	hit.score += 1 / float64(rankConstant+rank+1)
	hit.matches = append(hit.matches, match)
}

// statement returns the start of a query: the columns, and the entries e that the caller sees
// and that have the properties of the request. from are further tables with their conditions.
// The columns can contain @text, the text of the query.
func (s *search) statement(ctx context.Context, columns, from string) (st *postgres.Statement, tenant string, err error) {
	st = &postgres.Statement{}
	tenant = st.Arg(s.c.Tenant)
	if strings.Contains(columns, "@text") {
		columns = strings.ReplaceAll(columns, "@text", st.Arg(s.in.Query)+"::text")
	}
	st.Add(`SELECT `, columns, `
FROM catalog.entries e`, strings.ReplaceAll(from, "@tenant", tenant), `
WHERE e.tenant_id = `, tenant, ` AND `)
	if err := addVisibleEntries(ctx, s.c, st, s.filter); err != nil {
		return nil, "", err
	}
	addEntryConditions(st, &contract.ListCatalogEntriesIn{Status: s.in.Status, NodeID: s.in.NodeID, Tag: s.in.Tag}, tenant)
	return st, tenant, nil
}

// rankWords ranks the entries that contain the words. Those with more words in the title come
// first, then those with more words in the summary or the tags.
func (s *search) rankWords(ctx context.Context) error {
	query := searchterms.New(s.c.Tenant).Query(s.in.Query)
	if query == "" {
		return nil
	}
	st, tenant, err := s.statement(ctx, `e.id, e.title, e.summary, e.tags, e.body`, ``)
	if err != nil {
		return err
	}
	words := searchterms.Words(s.in.Query)
	list := st.Arg(words)
	st.Add(` AND e.id IN (SELECT hit FROM catalog.search_entries(`, tenant, `, `, st.Arg(query), `::text::tsquery) hit)
ORDER BY (SELECT count(*) FROM unnest(`, list, `::text[]) w WHERE position(w IN e.sort_title) > 0) DESC,
         (SELECT count(*) FROM unnest(`, list, `::text[]) w WHERE position(w IN lower(e.summary)) > 0 OR w = ANY (e.tags)) DESC,
         e.updated_at DESC, e.id LIMIT `, strconv.Itoa(maxRanked))
	type row struct {
		ID                   op.UUID
		Title, Summary, Body string
		Tags                 []string
	}
	rows, err := postgres.Collect[row](ctx, s.c.DB, st.SQL(), st.Args()...)
	for rank := range rows {
		r := &rows[rank]
		match := contract.SearchMatch{Kind: contract.MatchWords}
		for _, f := range []struct{ name, text string }{
			{"title", r.Title}, {"summary", r.Summary}, {"tags", strings.Join(r.Tags, " ")}, {"body", r.Body},
		} {
			if containsAny(f.text, words) {
				match.Fields = append(match.Fields, f.name)
			}
		}
		s.add(r.ID, rank, match)
	}
	return err
}

// containsAny reports whether the text contains one of the words, which are in lower case.
func containsAny(text string, words []string) bool {
	lower := strings.ToLower(text)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(lower, w) })
}

// rankTitles ranks the entries with a similar title, for example with a typing error. A query
// with operators states exactly what to find.
func (s *search) rankTitles(ctx context.Context) error {
	query := searchterms.New(s.c.Tenant).SimilarTitle(s.in.Query, similarPart, similarWhole)
	if query == "" || searchterms.HasOperators(s.in.Query) {
		return nil
	}
	st, tenant, err := s.statement(ctx, `e.id, similarity(e.sort_title, lower(@text)) AS similarity`, ``)
	if err != nil {
		return err
	}
	st.Add(` AND e.id IN (SELECT hit FROM catalog.search_entries(`, tenant, `, `, st.Arg(query), `::text::tsquery) hit)
  AND similarity(e.sort_title, lower(`, st.Arg(s.in.Query), `::text)) >= `, strconv.FormatFloat(float64(similarPart)/similarWhole, 'f', -1, 64), `
ORDER BY similarity DESC, e.id LIMIT `, strconv.Itoa(maxRanked))
	type row struct {
		ID         op.UUID
		Similarity float32
	}
	rows, err := postgres.Collect[row](ctx, s.c.DB, st.SQL(), st.Args()...)
	for rank, r := range rows {
		s.add(r.ID, rank, contract.SearchMatch{Kind: contract.MatchTitle, Similarity: round(float64(r.Similarity))})
	}
	return err
}

func round(similarity float64) float64 { return math.Round(similarity*1000) / 1000 }

const countEmbeddingsSQL = `
SELECT count(*) FROM (SELECT 1 FROM catalog.entry_embeddings m WHERE m.tenant_id = @tenant AND m.model = @model LIMIT @limit) x`

// rankMeaning ranks the entries by the cosine similarity of their embeddings. It compares all
// embeddings of a small catalog, and those that the index finds in a large one.
func (s *search) rankMeaning(ctx context.Context, vector []float32) error {
	var count int
	args := postgres.Args{"tenant": s.c.Tenant, "model": s.in.Model, "limit": maxExact + 1}
	if err := s.c.DB.QueryRow(ctx, countEmbeddingsSQL, args).Scan(&count); err != nil || count == 0 {
		return err
	}
	st, tenant, err := s.statement(ctx, `e.id, m.vector`, `
JOIN catalog.entry_embeddings m ON m.tenant_id = @tenant AND m.entry_id = e.id`)
	if err != nil {
		return err
	}
	st.Add(` AND m.model = `, st.Arg(s.in.Model))
	if count > maxExact {
		bands, hashes := probes(vector)
		st.Add(` AND m.entry_id IN (SELECT b.entry_id FROM unnest(`, st.Arg(bands), `::smallint[], `, st.Arg(hashes), `::int[]) AS p (band, hash)
JOIN catalog.embedding_bands b ON b.tenant_id = `, tenant, ` AND b.model = `, st.Arg(s.in.Model), ` AND b.band = p.band AND b.hash = p.hash)`)
	}
	st.Add(` LIMIT `, strconv.Itoa(maxCandidates))
	type row struct {
		ID     op.UUID
		Vector []float32
	}
	rows, err := postgres.Collect[row](ctx, s.c.DB, st.SQL(), st.Args()...)
	if err != nil {
		return err
	}
	type similar struct {
		id     op.UUID
		cosine float64
	}
	ranked := make([]similar, 0, len(rows))
	for _, r := range rows {
		if len(r.Vector) != len(vector) {
			return fault.Validation("embedding", "The parameter embedding must have "+strconv.Itoa(len(r.Vector))+" numbers, like the embeddings of the model.")
		}
		ranked = append(ranked, similar{r.ID, cosine(vector, r.Vector)})
	}
	slices.SortFunc(ranked, func(a, b similar) int { return cmp.Or(cmp.Compare(b.cosine, a.cosine), cmp.Compare(a.id, b.id)) })
	for rank, r := range ranked[:min(len(ranked), maxRanked)] {
		s.add(r.id, rank, contract.SearchMatch{Kind: contract.MatchMeaning, Similarity: round(r.cosine)})
	}
	return nil
}

// hits returns the best hits with their entries.
func (s *search) hits(ctx context.Context) ([]contract.CatalogHit, error) {
	best := make([]*rankedHit, 0, len(s.found))
	for _, hit := range s.found {
		best = append(best, hit)
	}
	slices.SortFunc(best, func(a, b *rankedHit) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.id, b.id)) })
	best = best[:min(len(best), s.in.Limit)]
	ids := make([]op.UUID, len(best))
	for i, hit := range best {
		ids[i] = hit.id
	}
	type row struct {
		entryRow
		SortTitle string
	}
	rows, err := postgres.Collect[row](ctx, s.c.DB, entrySummariesSQL+` WHERE e.tenant_id = @tenant AND e.id = ANY(@ids::uuid[])`,
		postgres.Args{"tenant": s.c.Tenant, "ids": ids})
	if err != nil {
		return nil, err
	}
	items := []contract.CatalogHit{}
	for _, hit := range best {
		// An entry that was deleted in the meantime is omitted.
		if i := slices.IndexFunc(rows, func(r row) bool { return r.ID == hit.id }); i >= 0 {
			items = append(items, contract.CatalogHit{CatalogEntrySummary: rows[i].toSummary(), Score: hit.score, Matches: hit.matches})
		}
	}
	return items, nil
}
