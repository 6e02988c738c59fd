package catalog

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/authz"
	contract "parapet/internal/contract/catalog"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

const maxDimension = 2048

func (s *Service) searchOperations() []op.Bound {
	return []op.Bound{
		executor.List(s.executor, contract.SearchCatalog, entryColumns, searchCatalog),
		executor.Handle(s.executor, contract.GetCatalogEmbedding, loadEntryOfEmbedding, getEmbedding),
		executor.Handle(s.executor, contract.SetCatalogEmbedding, loadEntryToEmbed, setEmbedding),
	}
}

type embeddingRow struct {
	Vector    []float32
	UpdatedAt time.Time
}

func (r *embeddingRow) toEmbedding(model string) *contract.EntryEmbedding {
	e := &contract.EntryEmbedding{Model: model, Vector: make([]float64, len(r.Vector)), UpdatedAt: r.UpdatedAt}
	for i, x := range r.Vector {
		e.Vector[i] = float64(x)
	}
	return e
}

func loadEntryOfEmbedding(ctx context.Context, c *executor.Call, in *contract.GetCatalogEmbeddingIn) (entryRow, authz.Resource, error) {
	return loadVisibleEntry(ctx, c, loadEntrySQL, in.EntryID)
}

const loadEmbeddingSQL = `
SELECT m.vector, m.updated_at FROM catalog.entry_embeddings m
WHERE m.tenant_id = @tenant AND m.model = @model AND m.entry_id = @entry`

func getEmbedding(ctx context.Context, c *executor.Call, in *contract.GetCatalogEmbeddingIn, row entryRow) (*contract.EntryEmbedding, error) {
	e, err := postgres.One[embeddingRow](ctx, c.DB, loadEmbeddingSQL, postgres.Args{"tenant": c.Tenant, "model": in.Model, "entry": row.ID})
	if postgres.IsNoRows(err) {
		return nil, fault.NotFound("embedding")
	}
	if err != nil {
		return nil, err
	}
	return e.toEmbedding(in.Model), nil
}

func loadEntryToEmbed(ctx context.Context, c *executor.Call, in *contract.SetCatalogEmbeddingIn) (entryRow, authz.Resource, error) {
	return loadVisibleEntry(ctx, c, lockEntrySQL, in.EntryID)
}

const (
	// The update changes nothing. It makes the statement return the stored dimension.
	claimDimensionSQL = `
INSERT INTO catalog.embedding_models AS x (tenant_id, model, dimension) VALUES (@tenant, @model, @dimension)
ON CONFLICT (tenant_id, model) DO UPDATE SET dimension = x.dimension
RETURNING x.dimension::int`

	writeEmbeddingSQL = `
INSERT INTO catalog.entry_embeddings (tenant_id, model, entry_id, vector, updated_at) VALUES (@tenant, @model, @entry, @vector, @now)
ON CONFLICT (tenant_id, model, entry_id) DO UPDATE SET vector = excluded.vector, updated_at = excluded.updated_at`

	deleteBandsSQL = `DELETE FROM catalog.embedding_bands b WHERE b.tenant_id = @tenant AND b.model = @model AND b.entry_id = @entry`

	writeBandsSQL = `
INSERT INTO catalog.embedding_bands (tenant_id, model, band, hash, entry_id)
SELECT @tenant, @model, h.band - 1, h.hash, @entry FROM unnest(@hashes::int[]) WITH ORDINALITY AS h (hash, band)`
)

// setEmbedding stores an embedding and its hashes. The event of the change has no field for the
// embedding, so it names the changed field only.
func setEmbedding(ctx context.Context, c *executor.Call, in *contract.SetCatalogEmbeddingIn, row entryRow) (*contract.EntryEmbedding, error) {
	in.Model = cmp.Or(in.Model, contract.DefaultModel)
	vector, err := toVector(in.Vector)
	if err != nil {
		return nil, err
	}
	var dimension int
	claim := postgres.Args{"tenant": c.Tenant, "model": in.Model, "dimension": len(vector)}
	if err := c.DB.QueryRow(ctx, claimDimensionSQL, claim).Scan(&dimension); err != nil {
		return nil, err
	}
	if dimension != len(vector) {
		return nil, fault.Validation("vector", fmt.Sprintf("The field vector must have %d numbers, like the other embeddings of the model %q.", dimension, in.Model))
	}
	hashes := bandHashes(vector)
	args := postgres.Args{"tenant": c.Tenant, "model": in.Model, "entry": row.ID}
	batch := &pgx.Batch{}
	batch.Queue(writeEmbeddingSQL, postgres.Args{"tenant": c.Tenant, "model": in.Model, "entry": row.ID, "vector": vector, "now": c.Now})
	batch.Queue(deleteBandsSQL, args)
	batch.Queue(writeBandsSQL, postgres.Args{"tenant": c.Tenant, "model": in.Model, "entry": row.ID, "hashes": hashes[:]})
	if err := c.Tx.SendBatch(ctx, batch).Close(); err != nil {
		return nil, err
	}
	recordEntry(c, &row, "catalog_entry.updated", contract.EventEntryUpdated, []string{"embedding"},
		map[string]any{"fields": []string{"embedding"}, "model": in.Model})
	return (&embeddingRow{Vector: vector, UpdatedAt: c.Now}).toEmbedding(in.Model), nil
}

// toVector converts numbers to 32 bits. It rejects numbers that are too large and a vector of
// zeros, which has no direction.
func toVector(numbers []float64) ([]float32, error) {
	vector := make([]float32, len(numbers))
	for i, x := range numbers {
		vector[i] = float32(x)
	}
	if problem := vectorProblem(vector); problem != "" {
		return nil, fault.Validation("vector", "The field vector "+problem+".")
	}
	return vector, nil
}

// vectorProblem says what is wrong with a vector, or returns "".
func vectorProblem(vector []float32) string {
	sum := 0.0
	for _, x := range vector {
		sum += float64(x) * float64(x)
	}
	switch {
	case len(vector) < 2 || len(vector) > maxDimension:
		return fmt.Sprintf("must have 2 to %d numbers", maxDimension)
	case math.IsNaN(sum) || math.IsInf(sum, 0):
		return "must contain finite 32-bit numbers only"
	case sum < math.SmallestNonzeroFloat32:
		return "must not be zero"
	default:
		return ""
	}
}

// parseEmbedding decodes an embedding in base64: 32-bit little-endian floating-point numbers.
// It accepts the standard and the URL alphabet, with or without padding.
func parseEmbedding(text string) ([]float32, error) {
	invalid := func(problem string) error {
		return fault.Validation("embedding", "The parameter embedding "+problem+".")
	}
	data, err := decodeBase64(text)
	if err != nil || len(data)%4 != 0 {
		return nil, invalid("must be 32-bit little-endian floating-point numbers in base64")
	}
	vector := make([]float32, len(data)/4)
	for i := range vector {
		vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	if problem := vectorProblem(vector); problem != "" {
		return nil, invalid(problem)
	}
	return vector, nil
}

func decodeBase64(text string) ([]byte, error) {
	var data []byte
	var err error
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
		if data, err = encoding.DecodeString(text); err == nil {
			break
		}
	}
	return data, err
}
