package wiki

import (
	"time"

	"parapet/internal/op"
)

// PageHit is a page that matches a search.
type PageHit struct {
	ID             op.UUID   `json:"id" doc:"The page's id."`
	Path           string    `json:"path" doc:"The page's path."`
	Title          string    `json:"title" doc:"The page's title. Untrusted text."`
	Classification string    `json:"classification" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" doc:"The page's classification."`
	Version        int       `json:"version" doc:"The number of the current version."`
	UpdatedAt      time.Time `json:"updatedAt" doc:"When the page last changed."`
	Snippet        string    `json:"snippet" doc:"A part of the text, around the first match if there is one. Untrusted text."`
}

// SearchPagesIn is the input of SearchPages.
type SearchPagesIn struct {
	Search string `query:"search" required:"true" maxLength:"200" doc:"Words to search for. OR, -word and \"quoted words\" also work."`
	Prefix string `query:"prefix" maxLength:"512" doc:"Only the page with this path and the pages below it."`
	Limit  int    `query:"limit" default:"20" minimum:"1" maximum:"100" doc:"The maximum number of pages to return."`
	Cursor string `query:"cursor" doc:"The nextCursor of the previous page."`
}

// SearchPages searches the current versions of pages.
var SearchPages = op.Declare[SearchPagesIn, op.Page[PageHit]](Contract, op.Spec{
	Name: "search-pages", Method: "GET", Path: "/api/pages/search", Permission: PermPagesRead, Effect: op.Read,
	Summary:     "Search pages by words, best match first.",
	Description: "Each word matches the start of a word in title or text, or a part of the title. A match in the title counts more. Searches the first 50,000 characters of each text.",
})

// DiffPageIn is the input of DiffPage.
type DiffPageIn struct {
	Path string `path:"path" rest:"true" doc:"The page's path."`
	From *int   `query:"from" minimum:"0" doc:"The older version; 0 is the empty text. Default: the version before to."`
	To   *int   `query:"to" minimum:"1" doc:"The newer version. Default: the current version."`
}

// PageDiff is the difference between two versions of a page.
type PageDiff struct {
	Path string `json:"path" doc:"The page's path."`
	From int    `json:"from" doc:"The older version; 0 is the empty text."`
	To   int    `json:"to" doc:"The newer version."`
	Diff string `json:"diff" doc:"The difference of the texts by lines, in the unified format; empty if they are equal. Untrusted text."`
}

// DiffPage compares two versions of a page.
var DiffPage = op.Declare[DiffPageIn, PageDiff](Contract, op.Spec{
	Name: "diff-page", Method: "GET", Path: "/api/pages/diff/{path...}", Permission: PermPagesRead, Effect: op.Read,
	Summary:     "Compare two versions of a page.",
	Description: "Requires clearance for both versions.",
})
