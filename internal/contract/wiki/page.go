package wiki

import (
	"html"
	"strconv"
	"time"

	"parapet/internal/op"
)

// PageSummary is a page without its text.
type PageSummary struct {
	ID             op.UUID       `json:"id" doc:"The page's id."`
	Path           string        `json:"path" doc:"The page's path, for example specs/0474-path-reform."`
	Title          string        `json:"title" doc:"The page's title. Untrusted text."`
	Classification string        `json:"classification" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" doc:"The page's classification."`
	Version        int           `json:"version" doc:"The number of the current version, from 1."`
	SourceCommit   string        `json:"sourceCommit,omitempty" doc:"The commit from which the current version was published; absent if it was not published from a repository."`
	CreatedBy      op.UUID       `json:"createdBy" doc:"The user who created the page."`
	CreatedByUser  *op.Reference `json:"createdByUser,omitempty" doc:"The name of the record that createdBy identifies."`
	CreatedAt      time.Time     `json:"createdAt" doc:"When the page was created."`
	UpdatedBy      op.UUID       `json:"updatedBy" doc:"The user who last changed the page."`
	UpdatedByUser  *op.Reference `json:"updatedByUser,omitempty" doc:"The name of the record that updatedBy identifies."`
	UpdatedAt      time.Time     `json:"updatedAt" doc:"When the page last changed."`
	DeletedAt      *time.Time    `json:"deletedAt,omitempty" doc:"When the page was deleted; absent if it is not deleted."`
}

// EntityTag returns the value of the header ETag.
func (p *PageSummary) EntityTag() string { return strconv.Quote(strconv.Itoa(p.Version)) }

// Page is a page, or an old version of it, with its text.
type Page struct {
	PageSummary
	Markdown string `json:"markdown" doc:"The page's text, Markdown. Untrusted text."`
	HTML     string `json:"html,omitempty" doc:"The text as sanitized HTML; only with format html. Untrusted text."`
}

// Document returns the page as an HTML document if it was requested as HTML.
func (p *Page) Document() (mediaType, text string) {
	if p.HTML == "" {
		return "", ""
	}
	return "text/html; charset=utf-8", "<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n<title>" + html.EscapeString(p.Title) +
		"</title>\n</head>\n<body>\n" + p.HTML + "</body>\n</html>\n"
}

// The results of PutPage.
const (
	PageCreated   = "created"
	PageUpdated   = "updated"
	PageRestored  = "restored"
	PageUnchanged = "unchanged"
)

// PutPageIn is the input of PutPage.
type PutPageIn struct {
	Path           string `path:"path" rest:"true" doc:"The page's path: at most 512 bytes and 16 segments, separated by slashes."`
	Title          string `json:"title" maxLength:"200" doc:"The title. Default: the first heading of level 1 in the text, or else the last segment of the path."`
	Markdown       string `json:"markdown" required:"true" maxLength:"500000" doc:"The text, Markdown."`
	Classification string `json:"classification" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" doc:"The classification. Default: that of the page, or UNCLASSIFIED for a new page."`
	SourceCommit   string `json:"sourceCommit" pattern:"^[0-9a-f]{7,64}$" form:"a commit hash of 7 to 64 lower-case hexadecimal digits" doc:"The commit from which the page is published."`
	IfVersion      *int   `json:"ifVersion" minimum:"0" doc:"Write only if this is the current version; 0: only if the page does not exist. Without it, the text replaces the current version, which stays in the history."`
}

// PutPageOut is the output of PutPage.
type PutPageOut struct {
	PageSummary
	Result string `json:"result" enum:"created|updated|restored|unchanged" doc:"created: a new page. updated: a new version. restored: a deleted page exists again. unchanged: title, text and classification are the same, so there is no new version."`
}

// PutPage creates or changes a page.
var PutPage = op.Declare[PutPageIn, PutPageOut](Contract, op.Spec{
	Name: "put-page", Method: "PUT", Path: "/api/pages/by-path/{path...}", Permission: PermPageWrite, Effect: op.Write, MaxBody: 4 << 20,
	Summary: "Create or change a page.",
	Description: "Each change adds a version. If title, text and classification are unchanged, nothing is written. Changing the classification requires clearance for the old and the new one. " +
		"If your clearance does not cover an existing page, the error is NOT_FOUND.",
})

// GetPageIn is the input of GetPage.
type GetPageIn struct {
	Path    string `path:"path" rest:"true" doc:"The page's path."`
	Version *int   `query:"version" minimum:"1" doc:"An old version. Default: the current version."`
	Format  string `query:"format" enum:"json|html" doc:"html adds the text as sanitized HTML; a browser then gets an HTML document."`
}

// The formats of a page.
const (
	FormatJSON = "json"
	FormatHTML = "html"
)

// GetPage returns a page.
var GetPage = op.Declare[GetPageIn, Page](Contract, op.Spec{
	Name: "get-page", Method: "GET", Path: "/api/pages/by-path/{path...}", Permission: PermPagesRead, Effect: op.Read,
	Summary:     "Get a page.",
	Description: "Requires only membership and clearance. An old version also requires clearance for the classification that it was written with.",
})

// DeletePageIn is the input of DeletePage.
type DeletePageIn struct {
	Path      string `path:"path" rest:"true" doc:"The page's path."`
	IfVersion *int   `query:"ifVersion" minimum:"1" doc:"Delete only if this is the current version."`
}

// DeletePage deletes a page. RestorePage restores it.
var DeletePage = op.Declare[DeletePageIn, op.None](Contract, op.Spec{
	Name: "delete-page", Method: "DELETE", Path: "/api/pages/by-path/{path...}", Permission: PermPageWrite, Effect: op.Destroy, Status: 204,
	Summary:     "Delete a page.",
	Description: "The page keeps its versions. restore-page restores it, and so does put-page with the same path.",
})

// RestorePageIn is the input of RestorePage.
type RestorePageIn struct {
	Path string `path:"path" rest:"true" doc:"The path of the deleted page."`
}

// RestorePage restores a deleted page.
var RestorePage = op.Declare[RestorePageIn, PageSummary](Contract, op.Spec{
	Name: "restore-page", Method: "POST", Path: "/api/pages/restore/{path...}", Permission: PermPageWrite, Effect: op.Write, Idempotent: true,
	Summary:     "Restore a deleted page.",
	Description: "The page has the version that it had before its deletion. Restoring a page that is not deleted changes nothing.",
})

// PageEntry is an entry in a list of pages: a page, a folder, or both.
type PageEntry struct {
	Path           string     `json:"path" doc:"The path of the page or the folder."`
	ID             op.UUID    `json:"id,omitempty" doc:"The page's id; absent if no page has the path."`
	Title          string     `json:"title,omitempty" doc:"The page's title; absent if no page has the path. Untrusted text."`
	Classification string     `json:"classification,omitempty" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" doc:"The page's classification; absent if no page has the path."`
	Version        int        `json:"version,omitempty" doc:"The number of the current version; absent if no page has the path."`
	UpdatedAt      *time.Time `json:"updatedAt,omitempty" doc:"When the page last changed; absent if no page has the path."`
	DeletedAt      *time.Time `json:"deletedAt,omitempty" doc:"When the page was deleted; absent if it is not deleted."`
	Pages          int        `json:"pages" doc:"With depth: the number of pages below this path that the caller may read. Otherwise 0."`
}

// ListPagesIn is the input of ListPages.
type ListPagesIn struct {
	Prefix  string `query:"prefix" maxLength:"512" doc:"Only the page with this path and the pages below it."`
	Depth   *int   `query:"depth" minimum:"1" maximum:"16" doc:"How many levels below the prefix to list. A deeper page only counts in the entry of its folder. Default: all levels."`
	Deleted bool   `query:"deleted" doc:"Only deleted pages. Requires wiki:page:write."`
	Limit   int    `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"The maximum number of entries to return."`
	Cursor  string `query:"cursor" doc:"The nextCursor of the previous page."`
}

// ListPages lists pages as a flat list or level by level.
var ListPages = op.Declare[ListPagesIn, op.Page[PageEntry]](Contract, op.Spec{
	Name: "list-pages", Method: "GET", Path: "/api/pages", Permission: PermPagesRead, Effect: op.Read,
	Summary:     "List pages, flat or level by level.",
	Description: "In the order of a tree: each page comes before the pages below it. With depth 1, the list contains the direct children of the prefix, like the folders and files of a directory.",
})

// PageVersion is a version of a page, without its text.
type PageVersion struct {
	Version        int           `json:"version" doc:"The number of the version, from 1."`
	Title          string        `json:"title" doc:"The title of the version. Untrusted text."`
	Classification string        `json:"classification" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" doc:"The classification that the version was written with."`
	SourceCommit   string        `json:"sourceCommit,omitempty" doc:"The commit from which the version was published; absent if it was not published from a repository."`
	Size           int           `json:"size" doc:"The length of the text in characters."`
	AuthorID       op.UUID       `json:"authorId" doc:"The user who wrote the version."`
	Author         *op.Reference `json:"author,omitempty" doc:"The name of the record that authorId identifies."`
	CreatedAt      time.Time     `json:"createdAt" doc:"When the version was written."`
}

// ListPageVersionsIn is the input of ListPageVersions.
type ListPageVersionsIn struct {
	Path   string `path:"path" rest:"true" doc:"The page's path."`
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"The maximum number of versions to return."`
	Cursor string `query:"cursor" doc:"The nextCursor of the previous page."`
}

// ListPageVersions lists the versions of a page.
var ListPageVersions = op.Declare[ListPageVersionsIn, op.Page[PageVersion]](Contract, op.Spec{
	Name: "list-page-versions", Method: "GET", Path: "/api/pages/versions/{path...}", Permission: PermPagesRead, Effect: op.Read,
	Summary:     "List the versions of a page, newest first.",
	Description: "Omits versions with a classification above your clearance.",
})
