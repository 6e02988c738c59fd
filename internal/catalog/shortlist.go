package catalog

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"parapet/internal/authz"
	contract "parapet/internal/contract/catalog"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

func (s *Service) shortlistOperations() []op.Bound {
	return []op.Bound{
		executor.List(s.executor, contract.ListShortlists, shortlistColumns, listShortlists),
		executor.Handle(s.executor, contract.GetShortlist, loadShortlistToGet, getShortlist),
		executor.HandleReturning(s.executor, contract.CreateShortlist, loadShortlistToCreate, s.createShortlist, loadReturnedShortlist),
		executor.Handle(s.executor, contract.UpdateShortlist, loadShortlistToUpdate, s.updateShortlist),
		executor.Handle(s.executor, contract.ArchiveShortlist, loadShortlistToArchive, archiveShortlist),
		executor.Handle(s.executor, contract.DeleteShortlist, loadShortlistToDelete, deleteShortlist),
		executor.Handle(s.executor, contract.AddShortlistEntry, loadShortlistToAdd, addShortlistEntry),
		executor.Handle(s.executor, contract.UpdateShortlistEntry, loadShortlistToReorder, updateShortlistEntry),
		executor.Handle(s.executor, contract.RemoveShortlistEntry, loadShortlistToRemove, removeShortlistEntry),
	}
}

// listShortlists returns a page of shortlists by name. The cursor contains the sort name and
// the id of the page's last shortlist.
func listShortlists(ctx context.Context, c *executor.Call, in *contract.ListShortlistsIn, f authz.Filter) (*op.Page[contract.Shortlist], error) {
	after, err := op.ReadCursor(in.Cursor, contract.ListShortlists.Name, c.Tenant, 2)
	if err != nil {
		return nil, err
	}
	if f.None() {
		return &op.Page[contract.Shortlist]{Items: []contract.Shortlist{}}, nil
	}
	st := &postgres.Statement{}
	tenant := st.Arg(c.Tenant)
	st.Add(shortlistSelect, `, s.sort_name
FROM catalog.shortlists s
WHERE s.tenant_id = `, tenant, ` AND `).Filter(f)
	if in.Status != "" {
		st.Add(` AND s.status = `, st.Arg(in.Status))
	}
	if in.EntryID != "" {
		// An entry that the caller may not read is in no list.
		read, err := c.Filter(ctx, contract.PermEntriesRead, entryColumns)
		if err != nil {
			return nil, err
		}
		st.Add(` AND s.id IN (SELECT x.shortlist_id FROM catalog.shortlist_entries x
JOIN catalog.entries e ON e.tenant_id = `, tenant, ` AND e.id = x.entry_id
WHERE x.tenant_id = `, tenant, ` AND x.entry_id = `, st.Arg(in.EntryID), ` AND `)
		if err := addVisibleEntries(ctx, c, st, read); err != nil {
			return nil, err
		}
		st.Add(`)`)
	}
	if after != nil {
		id, err := op.ParseUUID(after[1])
		if err != nil {
			return nil, op.WrongCursor().WithCause(err)
		}
		st.Add(` AND (s.sort_name, s.id) > (`, st.Arg(after[0]), `::text COLLATE "C", `, st.Arg(id), `::uuid)`)
	}
	st.Add(` ORDER BY s.sort_name, s.id LIMIT `, strconv.Itoa(in.Limit+1))
	type row struct {
		shortlistRow
		SortName string
	}
	rows, err := postgres.Collect[row](ctx, c.DB, st.SQL(), st.Args()...)
	if err != nil {
		return nil, err
	}
	rowPage := op.NewPage(rows, in.Limit, func(last *row) string {
		return op.NewCursor(contract.ListShortlists.Name, c.Tenant, last.SortName, string(last.ID))
	})
	return op.MapPage(rowPage, func(r *row) contract.Shortlist { return *r.toShortlist() }), nil
}

func loadShortlistToGet(ctx context.Context, c *executor.Call, in *contract.GetShortlistIn) (shortlistRow, authz.Resource, error) {
	return loadShortlist(ctx, c, loadShortlistSQL, in.ShortlistID)
}

func getShortlist(ctx context.Context, c *executor.Call, _ *contract.GetShortlistIn, row shortlistRow) (*contract.ShortlistDetail, error) {
	entries, err := loadShortlistEntries(ctx, c, row.ID)
	if err != nil {
		return nil, err
	}
	detail := &contract.ShortlistDetail{Shortlist: *row.toShortlist(), Entries: []contract.ShortlistEntry{}}
	for i := range entries {
		if entries[i].Visible {
			detail.Entries = append(detail.Entries, *entries[i].toEntry(len(detail.Entries) + 1))
		}
	}
	return detail, nil
}

// loadShortlistToCreate returns the attributes of the new shortlist. The caller is its creator.
func loadShortlistToCreate(_ context.Context, c *executor.Call, in *contract.CreateShortlistIn) (shortlistRow, authz.Resource, error) {
	organisation := in.OrganisationID
	if organisation == "" {
		organisation = c.Actor.Organisation
	}
	row := shortlistRow{
		ID: uid.New(), Name: strings.TrimSpace(in.Name), Description: in.Description, Status: contract.ShortlistActive,
		Classification: in.Classification, OrganisationID: postgres.NullIfZero(organisation),
		CreatedBy: c.Actor.UserID, CreatedAt: c.Now, UpdatedAt: c.Now,
	}
	resource := row.resource(c.Tenant)
	resource.ID = ""
	return row, resource, nil
}

func loadReturnedShortlist(ctx context.Context, c *executor.Call, out *contract.Shortlist) (authz.Resource, error) {
	_, resource, err := loadShortlist(ctx, c, loadShortlistSQL, out.ID)
	return resource, err
}

func (s *Service) createShortlist(ctx context.Context, c *executor.Call, in *contract.CreateShortlistIn, row shortlistRow) (*contract.Shortlist, error) {
	if in.OrganisationID != "" {
		if err := s.checkOrganisation(ctx, c, in.OrganisationID); err != nil {
			return nil, err
		}
	}
	if err := insertShortlistRow(ctx, c, &row); err != nil {
		return nil, err
	}
	recordShortlist(c, &row, "shortlist.created", contract.EventShortlistCreated, nil, map[string]any{
		"organisationId": row.OrganisationID, "classification": row.Classification,
	})
	return row.toShortlist(), nil
}

func loadShortlistToUpdate(ctx context.Context, c *executor.Call, in *contract.UpdateShortlistIn) (shortlistRow, authz.Resource, error) {
	return loadShortlist(ctx, c, lockShortlistSQL, in.ShortlistID)
}

func (s *Service) updateShortlist(ctx context.Context, c *executor.Call, in *contract.UpdateShortlistIn, old shortlistRow) (*contract.Shortlist, error) {
	row := old
	var p op.Patch
	op.SetTrimmed(&p, "name", &row.Name, in.Name)
	op.SetOrClear(&p, "description", &row.Description, in.Description)
	op.Set(&p, "classification", &row.Classification, in.Classification)
	op.SetOptional(&p, "organisationId", &row.OrganisationID, in.OrganisationID)
	changed, err := p.Changed()
	if err != nil {
		return nil, err
	}
	if len(changed) == 0 {
		// The response only shows the shortlist, so it requires the read permission.
		if err := c.Decide(ctx, contract.PermShortlistsRead, old.resource(c.Tenant)); err != nil {
			return nil, err
		}
		return old.toShortlist(), nil
	}
	if err := old.requireActive(); err != nil {
		return nil, err
	}
	// The caller needs the permission for the new classification and organisation, too.
	if slices.Contains(changed, "classification") || slices.Contains(changed, "organisationId") {
		if err := c.Decide(ctx, contract.PermShortlistUpdate, row.resource(c.Tenant)); err != nil {
			return nil, err
		}
	}
	if slices.Contains(changed, "organisationId") && row.OrganisationID != nil {
		if err := s.checkOrganisation(ctx, c, *row.OrganisationID); err != nil {
			return nil, err
		}
	}
	if err := updateShortlistRow(ctx, c, &row); err != nil {
		return nil, err
	}
	details := map[string]any{"fields": changed}
	if row.Classification != old.Classification {
		details["classification"] = map[string]string{"from": old.Classification, "to": row.Classification}
	}
	recordShortlist(c, &row, "shortlist.updated", contract.EventShortlistUpdated, changed, details)
	return row.toShortlist(), nil
}

// requireActive returns a CONFLICT error if the shortlist is archived.
func (r *shortlistRow) requireActive() error {
	if r.Status == contract.ShortlistActive {
		return nil
	}
	return fault.Conflict("The shortlist is archived and cannot be changed.").WithReason("WRONG_STATUS")
}

func loadShortlistToArchive(ctx context.Context, c *executor.Call, in *contract.ArchiveShortlistIn) (shortlistRow, authz.Resource, error) {
	return loadShortlist(ctx, c, lockShortlistSQL, in.ShortlistID)
}

func archiveShortlist(ctx context.Context, c *executor.Call, _ *contract.ArchiveShortlistIn, row shortlistRow) (*contract.Shortlist, error) {
	if err := row.requireActive(); err != nil {
		return nil, err
	}
	row.Status, row.ArchivedAt = contract.ShortlistArchived, &c.Now
	if err := updateShortlistRow(ctx, c, &row); err != nil {
		return nil, err
	}
	recordShortlist(c, &row, "shortlist.archived", contract.EventShortlistArchived, []string{"status"}, nil)
	return row.toShortlist(), nil
}

func loadShortlistToDelete(ctx context.Context, c *executor.Call, in *contract.DeleteShortlistIn) (shortlistRow, authz.Resource, error) {
	return loadShortlist(ctx, c, lockShortlistSQL, in.ShortlistID)
}

func deleteShortlist(ctx context.Context, c *executor.Call, _ *contract.DeleteShortlistIn, row shortlistRow) (*op.None, error) {
	if err := deleteShortlistRow(ctx, c, row.ID); err != nil {
		return nil, err
	}
	recordShortlist(c, &row, "shortlist.deleted", contract.EventShortlistDeleted, nil, nil)
	return &op.None{}, nil
}

// recordShortlist adds the audit entry and the event of a change of the shortlist itself. The
// entry is critical if the classification changed or the shortlist is deleted.
func recordShortlist(c *executor.Call, r *shortlistRow, action string, event *op.EventType, changed []string, details map[string]any) {
	c.Record(executor.Change{
		Action: action, Type: "shortlist", ID: r.ID, Classification: r.Classification,
		Critical: event == contract.EventShortlistDeleted || slices.Contains(changed, "classification"),
		Fields:   changed, Details: details, Event: event, Payload: r.toShortlist(),
	})
}
