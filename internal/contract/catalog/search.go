package catalog

import (
	"time"

	"parapet/internal/op"
)

// The reasons why a search finds an entry.
const (
	MatchWords   = "words"
	MatchTitle   = "title"
	MatchMeaning = "meaning"
)

// DefaultModel is the name of the embedding model if the request names none.
const DefaultModel = "default"

// SearchCatalogIn is the input of SearchCatalog.
type SearchCatalogIn struct {
	Query     string  `query:"query" maxLength:"500" doc:"The text to search for. All words must match, also as the beginning of a word or as a part of a word of the title. OR, a leading minus and quotes work as in a web search."`
	Embedding string  `query:"embedding" maxLength:"11000" doc:"The embedding of the query, to find entries with a similar meaning: 32-bit little-endian floating-point numbers in base64, as embedding APIs return them with encoding_format base64. Set query, embedding or both."`
	Model     string  `query:"model" maxLength:"100" default:"default" doc:"The name of the model of the embedding."`
	Status    string  `query:"status" enum:"draft|published|archived" doc:"Only entries with this status."`
	NodeID    op.UUID `query:"nodeId" doc:"Only entries of this taxonomy node and of the nodes below it."`
	Tag       string  `query:"tag" maxLength:"50" doc:"Only entries with this tag."`
	Limit     int     `query:"limit" default:"20" minimum:"1" maximum:"50" doc:"The maximum number of hits to return."`
}

// SearchResult is the result of a search, the best hit first.
type SearchResult struct {
	Items []CatalogHit `json:"items" doc:"The hits, the best one first."`
}

// CatalogHit is a catalog entry that a search has found.
type CatalogHit struct {
	CatalogEntrySummary
	Score   float64       `json:"score" doc:"The rank of the hit (reciprocal rank fusion); comparable only within one result."`
	Matches []SearchMatch `json:"matches" doc:"Why the search found the entry."`
}

// SearchMatch is a reason why a search found an entry.
type SearchMatch struct {
	Kind       string   `json:"kind" enum:"words|title|meaning" doc:"words: the texts contain the words. title: the title is similar to the query. meaning: the embedding is similar."`
	Fields     []string `json:"fields,omitempty" doc:"For words: the fields that contain one of them."`
	Similarity float64  `json:"similarity,omitempty" doc:"For title: the share of common trigrams. For meaning: the cosine similarity."`
}

// SearchCatalog searches the entries that the caller may read.
var SearchCatalog = op.Declare[SearchCatalogIn, SearchResult](Contract, op.Spec{
	Name: "search-catalog", Method: "GET", Path: "/api/catalog/search", Permission: PermEntriesRead, Effect: op.Read,
	Summary:     "Search the catalog by words, similar titles and meaning.",
	Description: "Omits entries that the caller may not read, and drafts that the caller may not change. Merges up to 100 hits of each kind into one ranked list.",
})

// EntryEmbedding is the embedding of a catalog entry.
type EntryEmbedding struct {
	Model     string    `json:"model" doc:"The name of the model. Untrusted text."`
	Vector    []float64 `json:"vector" doc:"The embedding, with the precision of 32-bit floating-point numbers."`
	UpdatedAt time.Time `json:"updatedAt" doc:"When the embedding was set."`
}

// GetCatalogEmbeddingIn is the input of GetCatalogEmbedding.
type GetCatalogEmbeddingIn struct {
	EntryID op.UUID `path:"entryId" doc:"The catalog entry."`
	Model   string  `query:"model" maxLength:"100" default:"default" doc:"The name of the model."`
}

// GetCatalogEmbedding returns the embedding of an entry.
var GetCatalogEmbedding = op.Declare[GetCatalogEmbeddingIn, EntryEmbedding](Contract, op.Spec{
	Name: "get-catalog-embedding", Method: "GET", Path: "/api/catalog/entries/{entryId}/embedding", Permission: PermEntriesRead, Effect: op.Read,
	Summary: "Get the embedding of a catalog entry.",
})

// SetCatalogEmbeddingIn is the input of SetCatalogEmbedding.
type SetCatalogEmbeddingIn struct {
	EntryID op.UUID   `path:"entryId" doc:"The catalog entry."`
	Vector  []float64 `json:"vector" required:"true" minLength:"2" maxLength:"2048" doc:"The embedding: 2 to 2048 numbers, not all zero. All embeddings of one model have the same length."`
	Model   string    `json:"model" maxLength:"100" default:"default" doc:"The name of the model."`
}

// SetCatalogEmbedding stores the embedding of an entry.
var SetCatalogEmbedding = op.Declare[SetCatalogEmbeddingIn, EntryEmbedding](Contract, op.Spec{
	Name: "set-catalog-embedding", Method: "PUT", Path: "/api/catalog/entries/{entryId}/embedding", Permission: PermEntryUpdate, Effect: op.Write,
	Summary:     "Store the embedding of a catalog entry.",
	Description: "Replaces the embedding of the same model. The first embedding of a model in the tenant decides about the number of dimensions.",
})
