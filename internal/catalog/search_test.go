package catalog_test

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	contract "parapet/internal/contract/catalog"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/uid"
)

// encode returns a vector as the parameter embedding of a search.
func encode(vector ...float32) string {
	var data []byte
	for _, x := range vector {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(data)
}

// search returns the titles and the reasons of the hits as text: "title:words(title,tags)+meaning".
func (w *world) search(who *person, in fields) string {
	w.t.Helper()
	var hits []string
	for _, hit := range do[contract.SearchResult](w, who, "search-catalog", in).Items {
		var reasons []string
		for _, m := range hit.Matches {
			reason := m.Kind
			if len(m.Fields) > 0 {
				reason += "(" + strings.Join(m.Fields, ",") + ")"
			}
			if (m.Similarity != 0) != (m.Kind != "words") {
				w.t.Errorf("%s: got %+v, want a similarity unless words match", hit.Title, m)
			}
			reasons = append(reasons, reason)
		}
		hits = append(hits, hit.Title+":"+strings.Join(reasons, "+"))
	}
	return strings.Join(hits, " ")
}

func TestSearchCatalog_MergesWordsTitlesAndMeaning(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	node, other := w.createNode("Software", nil), w.createNode("Hardware", nil)
	pg := w.publish(w.createEntry(w.manager, "Postgres", node, fields{"summary": "A database", "tags": []string{"sql"}}))
	backup := w.publish(w.createEntry(w.manager, "Backup", other, fields{"body": "Saves each postgres database every night."}))
	secret := w.publish(w.createEntry(w.manager, "Postgresql", node, fields{"classification": "SECRET"}))
	draft := w.createEntry(w.manager, "Postgres2", node)
	for id, vector := range map[op.UUID][]float64{pg.ID: {1, 0, 0}, backup.ID: {0, 1, 0.1}, secret.ID: {0, 1, 0}, draft.ID: {0, 1, 0}} {
		do[contract.EntryEmbedding](w, w.manager, "set-catalog-embedding", fields{"entryId": id, "vector": vector})
	}
	reader := w.addPerson(person{roles: []string{"Member"}})
	stranger := w.addPerson(person{tenant: w.globex, roles: []string{"Admin"}, clearance: "SECRET"})
	for _, c := range []struct {
		name string
		who  *person
		in   fields
		want string
	}{
		{"word in title and body", reader, fields{"query": "postgres"}, "Postgres:words(title)+title Backup:words(body)"},
		{"all words", reader, fields{"query": "postgres database"}, "Postgres:words(title,summary)+title Backup:words(body)"},
		{"tag", reader, fields{"query": "SQL"}, "Postgres:words(tags)"},
		{"part of a word of the title", reader, fields{"query": "acku"}, "Backup:words(title)"},
		{"typing error", reader, fields{"query": "postgrs"}, "Postgres:title"},
		{"negation", reader, fields{"query": "postgres -night"}, "Postgres:words(title)"},
		{"meaning", reader, fields{"embedding": encode(0.1, 1, 0)}, "Backup:meaning Postgres:meaning"},
		{"words and meaning", reader, fields{"query": "night", "embedding": encode(1, 0.2, 0)}, "Backup:words(body)+meaning Postgres:meaning"},
		{"node", reader, fields{"query": "postgres", "nodeId": other.ID}, "Backup:words(body)"},
		{"tag filter", reader, fields{"query": "database", "tag": "sql"}, "Postgres:words(summary)"},
		{"limit", reader, fields{"query": "postgres", "limit": 1}, "Postgres:words(title)+title"},
		{"nothing", reader, fields{"query": "%"}, ""},
		{"draft for those who may change it", w.manager, fields{"query": "postgres2", "status": "draft"}, "Postgres2:words(title)+title"},
		{"high clearance", w.manager, fields{"query": "postgresql"}, "Postgresql:words(title)+title Postgres:title Postgres2:title"},
		{"another tenant", stranger, fields{"query": "postgres", "embedding": encode(1, 0, 0)}, ""},
		{"another model", reader, fields{"embedding": encode(1, 0), "model": "other"}, ""},
	} {
		if got := w.search(c.who, c.in); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	// The index follows changes of the texts.
	do[contract.CatalogEntry](w, w.manager, "update-catalog-entry", fields{"entryId": backup.ID, "body": "Saves files."})
	if got := w.search(reader, fields{"query": "night"}) + w.search(reader, fields{"query": "files"}); got != "Backup:words(body)" {
		t.Errorf("after the update: got %q", got)
	}
	w.wantError(fault.CodeForbidden, w.addPerson(person{roles: []string{"Guest Customer"}}), "search-catalog", fields{"query": "x"})
	for _, in := range []fields{
		{}, {"embedding": "no base64!"}, {"embedding": "AAA="}, {"embedding": encode(0, 0, 0)}, {"embedding": encode(1, float32(math.NaN()))},
		{"embedding": encode(1)}, {"embedding": encode(1, 0, 0, 0)}, {"embedding": encode(1, float32(math.Inf(1)), 0)},
	} {
		w.wantError(fault.CodeValidation, reader, "search-catalog", in)
	}
}

func TestCatalogEmbedding_SetAndGet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	node := w.createNode("Software", nil)
	author, reader := w.addPerson(person{roles: []string{"Member"}}), w.addPerson(person{roles: []string{"Member"}})
	at := fields{"entryId": w.createEntry(author, "a", node).ID}
	other := fields{"entryId": w.publish(w.createEntry(w.manager, "b", node)).ID}
	w.wantError(fault.CodeNotFound, author, "get-catalog-embedding", at)
	for range 2 {
		do[contract.EntryEmbedding](w, author, "set-catalog-embedding", at.with(fields{"vector": []float64{0.5, -1, 3}}))
	}
	got := do[contract.EntryEmbedding](w, author, "get-catalog-embedding", at)
	if len(got.Vector) != 3 || got.Vector[0] != 0.5 || got.Vector[1] != -1 || got.Model != "default" {
		t.Errorf("got %+v", got)
	}
	if n := w.count(`SELECT count(*) FROM catalog.embedding_bands`); n != 6 {
		t.Errorf("got %d hashes, want one for each of 6 bands", n)
	}
	// Each model has one number of dimensions.
	w.wantError(fault.CodeValidation, w.manager, "set-catalog-embedding", other.with(fields{"vector": []float64{1, 2}}))
	do[contract.EntryEmbedding](w, w.manager, "set-catalog-embedding", other.with(fields{"vector": []float64{1, 2}, "model": "small"}))
	for _, vector := range []any{[]float64{1}, []float64{0, 0, 0}, []float64{1e39, 1, 1}, make([]float64, 2049), []string{"x", "y"}, nil} {
		w.wantError(fault.CodeValidation, w.manager, "set-catalog-embedding", other.with(fields{"vector": vector}))
	}
	w.wantError(fault.CodeForbidden, reader, "set-catalog-embedding", other.with(fields{"vector": []float64{1, 2, 3}}))
	w.wantError(fault.CodeNotFound, reader, "get-catalog-embedding", at)
	do[op.None](w, author, "delete-catalog-entry", at)
	if n := w.count(`SELECT count(*) FROM catalog.embedding_bands WHERE model = 'default'`); n != 0 {
		t.Errorf("%d hashes remain after the entry was deleted", n)
	}
}

// In a large catalog, the search compares only the embeddings that the index finds: those
// without hashes are not found.
func TestSearchCatalog_UsesTheIndexOfALargeCatalog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	node := w.createNode("Software", nil)
	near := w.publish(w.createEntry(w.manager, "near", node))
	do[contract.EntryEmbedding](w, w.manager, "set-catalog-embedding", fields{"entryId": near.ID, "vector": []float64{1, 2, 3, 4, 5, 6, 7, 8}})
	w.exec(`INSERT INTO catalog.entries (tenant_id, id, title, node_id, classification, status, created_by, created_at, updated_at)
SELECT $1, gen_random_uuid(), 'filler', $2, 'UNCLASSIFIED', 'draft', $3, now(), now() FROM generate_series(1, 2000)`, w.acme, node.ID, uid.New())
	w.exec(`INSERT INTO catalog.entry_embeddings (tenant_id, model, entry_id, vector, updated_at)
SELECT e.tenant_id, 'default', e.id, '{1,2,3,4,5,6,7,8}', now() FROM catalog.entries e WHERE e.title = 'filler'`)
	if got := w.search(w.manager, fields{"embedding": encode(1, 2, 3, 4, 5, 6, 7, 8.5)}); got != "near:meaning" {
		t.Errorf("got %.100q, want only the entry with hashes", got)
	}
}
