package wiki

import (
	"cmp"
	"context"
	"fmt"

	"parapet/internal/authz"
	"parapet/internal/clock"
	contract "parapet/internal/contract/wiki"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/uid"
	"parapet/internal/wikipath"
)

func pageOperations(m *executor.Module) []op.Bound {
	return []op.Bound{
		executor.List(m, contract.ListPages, pageColumns, listPages),
		executor.Handle(m, contract.GetPage, loadPageToRead, getPage),
		executor.Handle(m, contract.PutPage, loadPageToPut, putPage),
		executor.Handle(m, contract.DeletePage, loadPageToDelete, deletePage),
		executor.Handle(m, contract.RestorePage, loadPageToRestore, restorePage),
		executor.List(m, contract.ListPageVersions, versionColumns, listVersions),
		executor.Handle(m, contract.DiffPage, loadPageToDiff, diffPage),
		executor.List(m, contract.SearchPages, pageColumns, searchPages),
	}
}

// parsePath parses the path in a field of an input.
func parsePath(field, text string) (wikipath.Path, error) {
	path, err := wikipath.Parse(text)
	if err != nil {
		return "", fault.Validation(field, fmt.Sprintf("The field %s %s.", field, err))
	}
	return path, nil
}

func loadPageToRead(ctx context.Context, c *executor.Call, in *contract.GetPageIn) (pageRow, authz.Resource, error) {
	return loadCurrentPage(ctx, c, in.Path)
}

// loadCurrentPage reads a page that is not deleted.
func loadCurrentPage(ctx context.Context, c *executor.Call, text string) (pageRow, authz.Resource, error) {
	path, err := parsePath("path", text)
	if err != nil {
		return pageRow{}, authz.Resource{}, err
	}
	row, err := loadPage(ctx, c, loadPageSQL, path)
	return row, row.resource(c.Tenant), err
}

// getPage returns the current version or an old one. An old version keeps its own
// classification: lowering the classification of a page does not reveal what was written
// before.
func getPage(ctx context.Context, c *executor.Call, in *contract.GetPageIn, row pageRow) (*contract.Page, error) {
	number := row.Version
	if in.Version != nil {
		number = *in.Version
	}
	v, err := loadVersion(ctx, c, row.ID, number)
	if err != nil {
		return nil, err
	}
	if err := c.Decide(ctx, contract.PermPagesRead, v.resource(c.Tenant)); err != nil {
		return nil, err
	}
	page := &contract.Page{PageSummary: row.toSummary(), Markdown: v.Markdown}
	if number != row.Version {
		page.Version, page.Title, page.Classification, page.SourceCommit = v.Version, v.Title, v.Classification, textOf(v.SourceCommit)
		page.UpdatedBy, page.UpdatedAt = v.CreatedBy, v.CreatedAt
	}
	if in.Format == contract.FormatHTML {
		if page.HTML, err = renderHTML(row.Path, v.Markdown, clock.System{}.Now); err != nil {
			return nil, err
		}
	}
	return page, nil
}

// loadPageToPut reads and locks the page to write, also if it is deleted. A page that does
// not exist has the attributes that it will have.
func loadPageToPut(ctx context.Context, c *executor.Call, in *contract.PutPageIn) (pageRow, authz.Resource, error) {
	path, err := parsePath("path", in.Path)
	if err != nil {
		return pageRow{}, authz.Resource{}, err
	}
	fresh := pageRow{Path: path, Classification: cmp.Or(in.Classification, "UNCLASSIFIED"), CreatedBy: c.Actor.UserID}
	if in.Classification != "" {
		if err := requireNewClassification(ctx, c, fresh); err != nil {
			return pageRow{}, authz.Resource{}, err
		}
	}
	row, err := findPage(ctx, c, lockPageSQL, path)
	if err == nil && row.ID == "" {
		row = fresh
	}
	return row, row.resource(c.Tenant), err
}

// requireNewClassification returns an error if the caller may not write pages with the
// classification that the page will have.
func requireNewClassification(ctx context.Context, c *executor.Call, row pageRow) error {
	err := c.Decide(ctx, contract.PermPageWrite, row.resource(c.Tenant))
	if fault.HasCode(err, fault.CodeNotFound) {
		return fault.Validation("classification", fmt.Sprintf("The classification %s is above your clearance.", row.Classification)).WithCause(err)
	}
	return err
}

// putPage creates the page, adds a version or restores the page, or changes nothing.
func putPage(ctx context.Context, c *executor.Call, in *contract.PutPageIn, row pageRow) (*contract.PutPageOut, error) {
	if row.ID == "" {
		if err := requireVersion(in.IfVersion, row); err != nil {
			return nil, err
		}
		out, err := createPage(ctx, c, in, row)
		if out != nil || err != nil {
			return out, err
		}
		// Another call has just created the page. This call adds the second version.
		if row, err = loadPage(ctx, c, lockPageSQL, row.Path); err != nil {
			return nil, err
		}
		if err := c.Decide(ctx, contract.PermPageWrite, row.resource(c.Tenant)); err != nil {
			return nil, err
		}
	}
	if err := requireVersion(in.IfVersion, row); err != nil {
		return nil, err
	}
	return changePage(ctx, c, in, row)
}

// requireVersion returns an error unless want is nil or the version of the page.
func requireVersion(want *int, row pageRow) error {
	current := row.currentVersion()
	if want == nil || *want == current {
		return nil
	}
	message := fmt.Sprintf("The page has version %d, not %d. Read it again, then repeat your change.", current, *want)
	switch {
	case current == 0:
		message = fmt.Sprintf("The page does not exist, so it does not have version %d.", *want)
	case *want == 0:
		message = fmt.Sprintf("The page already exists, with version %d.", current)
	}
	f := &fault.Error{Code: fault.CodePrecondition, Message: message}
	return f.WithDetails(map[string]any{"currentVersion": current})
}

// createPage creates a page. It returns nil if another call has just done so.
func createPage(ctx context.Context, c *executor.Call, in *contract.PutPageIn, row pageRow) (*contract.PutPageOut, error) {
	row.ID, row.Version, row.Title, row.SourceCommit = uid.New(), 1, titleOf(in, row.Path), optional(in.SourceCommit)
	row.CreatedAt, row.UpdatedBy, row.UpdatedAt = c.Now, c.Actor.UserID, c.Now
	created, err := insertPageRow(ctx, c, &row)
	if !created || err != nil {
		return nil, err
	}
	if err := insertVersionRow(ctx, c, &row, in.Markdown); err != nil {
		return nil, err
	}
	recordPage(c, &row, pageChange{action: "page.created", event: contract.EventPageCreated})
	return &contract.PutPageOut{PageSummary: row.toSummary(), Result: contract.PageCreated}, nil
}

// changePage adds a version to an existing page, and restores a deleted page.
func changePage(ctx context.Context, c *executor.Call, in *contract.PutPageIn, old pageRow) (*contract.PutPageOut, error) {
	current, err := loadVersion(ctx, c, old.ID, old.Version)
	if err != nil {
		return nil, err
	}
	row := old
	row.Title, row.Classification = titleOf(in, old.Path), cmp.Or(in.Classification, old.Classification)
	row.UpdatedBy, row.UpdatedAt, row.DeletedAt = c.Actor.UserID, c.Now, nil
	var fields []string
	for _, f := range []struct {
		name string
		same bool
	}{{"title", row.Title == old.Title}, {"markdown", in.Markdown == current.Markdown}, {"classification", row.Classification == old.Classification}} {
		if !f.same {
			fields = append(fields, f.name)
		}
	}
	if len(fields) == 0 && old.DeletedAt == nil {
		// The response shows the page, so it requires the permission to read it.
		if err := c.Decide(ctx, contract.PermPagesRead, old.resource(c.Tenant)); err != nil {
			return nil, err
		}
		return &contract.PutPageOut{PageSummary: old.toSummary(), Result: contract.PageUnchanged}, nil
	}
	if len(fields) > 0 {
		row.Version, row.SourceCommit = old.Version+1, optional(in.SourceCommit)
		if err := insertVersionRow(ctx, c, &row, in.Markdown); err != nil {
			return nil, err
		}
	}
	if err := updatePageRow(ctx, c, &row); err != nil {
		return nil, err
	}
	change, result := pageChange{action: "page.updated", event: contract.EventPageUpdated, fields: fields}, contract.PageUpdated
	if old.DeletedAt != nil {
		change.action, change.event, result = "page.restored", contract.EventPageRestored, contract.PageRestored
	}
	if row.Classification != old.Classification {
		change.from = old.Classification
	}
	recordPage(c, &row, change)
	return &contract.PutPageOut{PageSummary: row.toSummary(), Result: result}, nil
}

func loadPageToDelete(ctx context.Context, c *executor.Call, in *contract.DeletePageIn) (pageRow, authz.Resource, error) {
	row, err := lockPage(ctx, c, in.Path)
	if err == nil && row.DeletedAt != nil {
		err = fault.NotFound("page")
	}
	return row, row.resource(c.Tenant), err
}

// lockPage reads and locks an existing page, also if it is deleted.
func lockPage(ctx context.Context, c *executor.Call, text string) (pageRow, error) {
	path, err := parsePath("path", text)
	if err != nil {
		return pageRow{}, err
	}
	return loadPage(ctx, c, lockPageSQL, path)
}

func deletePage(ctx context.Context, c *executor.Call, in *contract.DeletePageIn, row pageRow) (*op.None, error) {
	if err := requireVersion(in.IfVersion, row); err != nil {
		return nil, err
	}
	if err := deletePageRow(ctx, c, &row); err != nil {
		return nil, err
	}
	row.DeletedAt = &c.Now
	recordPage(c, &row, pageChange{action: "page.deleted", event: contract.EventPageDeleted})
	return &op.None{}, nil
}

func loadPageToRestore(ctx context.Context, c *executor.Call, in *contract.RestorePageIn) (pageRow, authz.Resource, error) {
	row, err := lockPage(ctx, c, in.Path)
	return row, row.resource(c.Tenant), err
}

func restorePage(ctx context.Context, c *executor.Call, _ *contract.RestorePageIn, row pageRow) (*contract.PageSummary, error) {
	if row.DeletedAt == nil {
		// The response shows the page, so it requires the permission to read it.
		if err := c.Decide(ctx, contract.PermPagesRead, row.resource(c.Tenant)); err != nil {
			return nil, err
		}
	} else {
		row.UpdatedBy, row.UpdatedAt, row.DeletedAt = c.Actor.UserID, c.Now, nil
		if err := updatePageRow(ctx, c, &row); err != nil {
			return nil, err
		}
		recordPage(c, &row, pageChange{action: "page.restored", event: contract.EventPageRestored})
	}
	summary := row.toSummary()
	return &summary, nil
}

// pageChange says what a call has changed.
type pageChange struct {
	action string
	event  *op.EventType
	fields []string
	// from is the classification before the change; empty if it did not change.
	from string
}

// recordPage adds the audit entry and the event of a change. Neither contains the text of the
// page. The entry is critical if the classification changed.
func recordPage(c *executor.Call, r *pageRow, change pageChange) {
	details := map[string]any{"path": r.Path, "version": r.Version}
	if change.fields != nil {
		details["fields"] = change.fields
	}
	if change.from != "" {
		details["classification"] = map[string]string{"from": change.from, "to": r.Classification}
	}
	c.Record(executor.Change{
		Action: change.action, Type: "page", ID: r.ID, Classification: r.Classification, Critical: change.from != "",
		Details: details, Event: change.event, Payload: r.toSummary(), Fields: change.fields,
	})
}
