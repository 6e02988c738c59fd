package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parapet/internal/authz"
	contract "parapet/internal/contract/catalog"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

func (s *Service) entryOperations() []op.Bound {
	return []op.Bound{
		executor.List(s.executor, contract.ListCatalogEntries, entryColumns, listEntries),
		executor.Handle(s.executor, contract.GetCatalogEntry, loadEntryToGet, getEntry),
		executor.HandleReturning(s.executor, contract.CreateCatalogEntry, loadEntryToCreate, s.createEntry, loadReturnedEntry),
		executor.Handle(s.executor, contract.UpdateCatalogEntry, loadEntryToUpdate, s.updateEntry),
		executor.Handle(s.executor, contract.PublishCatalogEntry, loadEntryToPublish, publishEntry),
		executor.Handle(s.executor, contract.ArchiveCatalogEntry, loadEntryToArchive, archiveEntry),
		executor.Handle(s.executor, contract.DeleteCatalogEntry, loadEntryToDelete, deleteEntry),
	}
}

func loadEntryToGet(ctx context.Context, c *executor.Call, in *contract.GetCatalogEntryIn) (entryRow, authz.Resource, error) {
	return loadVisibleEntry(ctx, c, loadEntrySQL, in.EntryID)
}

func getEntry(_ context.Context, _ *executor.Call, _ *contract.GetCatalogEntryIn, row entryRow) (*contract.CatalogEntry, error) {
	return row.toEntry(), nil
}

// loadVisibleEntry reads an entry. A draft that the caller may not change is like an entry that
// does not exist.
func loadVisibleEntry(ctx context.Context, c *executor.Call, sql string, id op.UUID) (entryRow, authz.Resource, error) {
	row, err := loadEntry(ctx, c, sql, id)
	if err == nil && row.Status == contract.EntryDraft {
		err = requireDraftVisible(ctx, c, &row)
	}
	return row, row.resource(c.Tenant), err
}

// requireDraftVisible applies the filter of the list, too, because the effect of the operation
// does not matter in it: a token with the caveat read-only sees no drafts.
func requireDraftVisible(ctx context.Context, c *executor.Call, r *entryRow) error {
	hidden := fault.NotFound(entryNoun)
	f, err := c.Filter(ctx, contract.PermEntryUpdate, entryColumns)
	if err != nil {
		return err
	}
	if f.None() {
		return hidden
	}
	err = c.Decide(ctx, contract.PermEntryUpdate, r.resource(c.Tenant))
	if fault.HasCode(err, fault.CodeForbidden) {
		return hidden.WithCause(err)
	}
	return err
}

// loadEntryToCreate returns the attributes of the new entry. The caller is its creator.
func loadEntryToCreate(_ context.Context, c *executor.Call, in *contract.CreateCatalogEntryIn) (entryRow, authz.Resource, error) {
	organisation, owner := in.OrganisationID, in.Owner
	if organisation == "" {
		organisation = c.Actor.Organisation
	}
	if owner == "" {
		owner = c.Actor.UserID
	}
	row := entryRow{
		ID: uid.New(), Title: strings.TrimSpace(in.Title), Summary: in.Summary, Body: in.Body, NodeID: in.NodeID,
		Classification: in.Classification, OrganisationID: postgres.NullIfZero(organisation), Status: contract.EntryDraft, OwnerID: &owner,
		CreatedBy: c.Actor.UserID, CreatedAt: c.Now, UpdatedAt: c.Now,
	}
	var err error
	row.Tags, err = normalizeTags(in.Tags)
	resource := row.resource(c.Tenant)
	resource.ID = ""
	return row, resource, err
}

func loadReturnedEntry(ctx context.Context, c *executor.Call, out *contract.CatalogEntry) (authz.Resource, error) {
	row, err := loadEntry(ctx, c, loadEntrySQL, out.ID)
	return row.resource(c.Tenant), err
}

func (s *Service) createEntry(ctx context.Context, c *executor.Call, in *contract.CreateCatalogEntryIn, row entryRow) (*contract.CatalogEntry, error) {
	if in.OrganisationID != "" {
		if err := s.checkOrganisation(ctx, c, in.OrganisationID); err != nil {
			return nil, err
		}
	}
	if *row.OwnerID != c.Actor.UserID {
		if err := s.checkOwner(ctx, c, &row); err != nil {
			return nil, err
		}
	}
	if err := insertEntryRow(ctx, c, &row); err != nil {
		return nil, err
	}
	recordEntry(c, &row, "catalog_entry.created", contract.EventEntryCreated, nil, map[string]any{
		"organisationId": row.OrganisationID, "classification": row.Classification, "nodeId": row.NodeID,
	})
	return row.toEntry(), nil
}

func (s *Service) checkOrganisation(ctx context.Context, c *executor.Call, organisation op.UUID) error {
	exists, err := s.directory.OrganisationExists(ctx, c.Tenant, organisation)
	if err == nil && !exists {
		err = fault.Validation("organisationId", "The organisation does not exist in the tenant.")
	}
	return err
}

// checkOwner returns an error if the owner of the entry cannot be responsible for it: the same
// policy decides that decides whether work can be assigned to a user.
func (s *Service) checkOwner(ctx context.Context, c *executor.Call, r *entryRow) error {
	found, err := s.directory.Candidate(ctx, c.Tenant, string(*r.OwnerID))
	if err != nil {
		return err
	}
	candidate := authz.Candidate{
		ID: string(found.ID), Tenant: string(found.TenantID), Kind: found.Kind, Status: found.Status, Membership: found.Membership,
		Clearance: found.Clearance, AgentsAllowed: found.AgentsAllowed,
	}
	for _, role := range found.Roles {
		candidate.Roles = append(candidate.Roles, authz.HeldRole{Name: role.Name, Kind: role.Kind, Scope: role.Scope, ScopeID: role.ScopeID, Grants: role.Grants})
	}
	v, err := c.Evaluate(ctx, authz.Assign{Actor: c.Actor.Subject, Candidate: candidate, Resource: r.resource(c.Tenant)})
	switch {
	case err == nil && v.Allow:
		return nil
	case err != nil || len(v.Explained) == 0:
		return fault.Validation("owner", "The user cannot be the owner.").WithCause(err)
	default:
		return fault.Validation("owner", v.Explained[0].Message).WithReasons(v.Explained)
	}
}

func loadEntryToUpdate(ctx context.Context, c *executor.Call, in *contract.UpdateCatalogEntryIn) (entryRow, authz.Resource, error) {
	return loadVisibleEntry(ctx, c, lockEntrySQL, in.EntryID)
}

func (s *Service) updateEntry(ctx context.Context, c *executor.Call, in *contract.UpdateCatalogEntryIn, old entryRow) (*contract.CatalogEntry, error) {
	row := old
	changed, err := row.apply(in)
	if err != nil {
		return nil, err
	}
	if len(changed) == 0 {
		// The response only shows the entry, so it requires the read permission.
		if err := c.Decide(ctx, contract.PermEntriesRead, old.resource(c.Tenant)); err != nil {
			return nil, err
		}
		return old.toEntry(), nil
	}
	// The caller needs the permission for the new classification and organisation, too.
	if slices.Contains(changed, "classification") || slices.Contains(changed, "organisationId") {
		if err := c.Decide(ctx, contract.PermEntryUpdate, row.resource(c.Tenant)); err != nil {
			return nil, err
		}
	}
	if slices.Contains(changed, "organisationId") && row.OrganisationID != nil {
		if err := s.checkOrganisation(ctx, c, *row.OrganisationID); err != nil {
			return nil, err
		}
	}
	if slices.Contains(changed, "owner") && row.OwnerID != nil {
		if err := s.checkOwner(ctx, c, &row); err != nil {
			return nil, err
		}
	}
	row.UpdatedAt = c.Now
	if err := updateEntryRow(ctx, c, &row); err != nil {
		return nil, err
	}
	details := map[string]any{"fields": changed}
	if row.Classification != old.Classification {
		details["classification"] = map[string]string{"from": old.Classification, "to": row.Classification}
	}
	recordEntry(c, &row, "catalog_entry.updated", contract.EventEntryUpdated, changed, details)
	return row.toEntry(), nil
}

// apply copies the fields of the request and returns the names of those that changed.
func (r *entryRow) apply(in *contract.UpdateCatalogEntryIn) ([]string, error) {
	var p op.Patch
	op.SetTrimmed(&p, "title", &r.Title, in.Title)
	op.Set(&p, "nodeId", &r.NodeID, in.NodeID)
	op.SetOrClear(&p, "summary", &r.Summary, in.Summary)
	op.SetOrClear(&p, "body", &r.Body, in.Body)
	op.Set(&p, "classification", &r.Classification, in.Classification)
	op.SetOptional(&p, "organisationId", &r.OrganisationID, in.OrganisationID)
	op.SetOptional(&p, "owner", &r.OwnerID, in.Owner)
	op.Watch(&p, "tags", &r.Tags)
	if in.Tags.Set {
		var err error
		if r.Tags, err = normalizeTags(in.Tags.Value); err != nil {
			return nil, err
		}
	}
	return p.Changed()
}

const (
	maxTags = 20
	maxTag  = 50
)

// normalizeTags returns the tags sorted and without duplicates: in lower case, without spaces
// around them, and with one hyphen in place of spaces inside.
func normalizeTags(given []string) ([]string, error) {
	tags := []string{}
	for _, text := range given {
		tag := strings.Join(strings.Fields(strings.ToLower(text)), "-")
		switch {
		case tag == "" || utf8.RuneCountInString(tag) > maxTag:
			return nil, fault.Validation("tags", fmt.Sprintf("The field tags must contain tags of 1 to %d characters.", maxTag))
		case strings.ContainsFunc(tag, func(r rune) bool { return !unicode.IsGraphic(r) || r == ',' }):
			return nil, fault.Validation("tags", "The field tags must not contain tags with commas or invisible characters.")
		}
		tags = append(tags, tag)
	}
	slices.Sort(tags)
	tags = slices.Compact(tags)
	if len(tags) > maxTags {
		return nil, fault.Validation("tags", fmt.Sprintf("The field tags must contain at most %d tags.", maxTags))
	}
	return tags, nil
}

func loadEntryToPublish(ctx context.Context, c *executor.Call, in *contract.PublishCatalogEntryIn) (entryRow, authz.Resource, error) {
	return loadVisibleEntry(ctx, c, lockEntrySQL, in.EntryID)
}

func publishEntry(ctx context.Context, c *executor.Call, _ *contract.PublishCatalogEntryIn, row entryRow) (*contract.CatalogEntry, error) {
	return row.transition(ctx, c, contract.EntryDraft, contract.EntryPublished)
}

func loadEntryToArchive(ctx context.Context, c *executor.Call, in *contract.ArchiveCatalogEntryIn) (entryRow, authz.Resource, error) {
	return loadVisibleEntry(ctx, c, lockEntrySQL, in.EntryID)
}

func archiveEntry(ctx context.Context, c *executor.Call, _ *contract.ArchiveCatalogEntryIn, row entryRow) (*contract.CatalogEntry, error) {
	return row.transition(ctx, c, contract.EntryPublished, contract.EntryArchived)
}

// transition changes the status. It returns a CONFLICT error unless the entry has the status
// from.
func (r *entryRow) transition(ctx context.Context, c *executor.Call, from, to string) (*contract.CatalogEntry, error) {
	if r.Status != from {
		return nil, fault.Conflict(fmt.Sprintf("The entry has the status %s. Only an entry with the status %s can become %s.", r.Status, from, to)).
			WithReason("WRONG_STATUS")
	}
	r.Status, r.UpdatedAt = to, c.Now
	if to == contract.EntryPublished {
		r.PublishedAt = &c.Now
	} else {
		r.ArchivedAt = &c.Now
	}
	if err := updateEntryRow(ctx, c, r); err != nil {
		return nil, err
	}
	recordEntry(c, r, "catalog_entry.status_changed", contract.EventEntryStatusChanged, []string{"status"},
		map[string]any{"status": map[string]string{"from": from, "to": to}})
	return r.toEntry(), nil
}

func loadEntryToDelete(ctx context.Context, c *executor.Call, in *contract.DeleteCatalogEntryIn) (entryRow, authz.Resource, error) {
	return loadVisibleEntry(ctx, c, lockEntrySQL, in.EntryID)
}

func deleteEntry(ctx context.Context, c *executor.Call, _ *contract.DeleteCatalogEntryIn, row entryRow) (*op.None, error) {
	if err := removeFromShortlists(ctx, c, &row); err != nil {
		return nil, err
	}
	if err := deleteEntryRow(ctx, c, row.ID); err != nil {
		return nil, err
	}
	recordEntry(c, &row, "catalog_entry.deleted", contract.EventEntryDeleted, nil, map[string]any{"status": row.Status})
	return &op.None{}, nil
}

// maxMovedEntries is the maximum number of entries that move when their node is deleted. Each
// of them has an audit entry and an event.
const maxMovedEntries = 1000

// moveEntries moves the entries of a node to the target. It requires the permission to change
// each of them. The error contains only counts, because the caller may not be allowed to see
// the entries.
func moveEntries(ctx context.Context, c *executor.Call, entries []entryRow, target op.UUID) error {
	if len(entries) > maxMovedEntries {
		return fault.Conflict(fmt.Sprintf("The node has more than %d entries. Move some of them to another node first.", maxMovedEntries)).WithReason("TOO_MANY_ENTRIES")
	}
	denied := 0
	for i := range entries {
		if c.Decide(ctx, contract.PermEntryUpdate, entries[i].resource(c.Tenant)) != nil {
			denied++
		}
	}
	if denied > 0 {
		return fault.Conflict(fmt.Sprintf("The deletion would also change %d catalog entries for which you lack the permission %s. Ask a user with this permission to delete the node.", denied, contract.PermEntryUpdate)).
			WithReason("CASCADE_DENIED").WithDetails(map[string]any{"count": denied})
	}
	if len(entries) == 0 {
		return nil
	}
	node := entries[0].NodeID
	if err := moveEntryRows(ctx, c, node, target); err != nil {
		return err
	}
	for i := range entries {
		r := &entries[i]
		r.NodeID, r.UpdatedAt = target, c.Now
		recordEntry(c, r, "catalog_entry.updated", contract.EventEntryUpdated, []string{"nodeId"},
			map[string]any{"fields": []string{"nodeId"}, "nodeId": map[string]op.UUID{"from": node, "to": target}})
	}
	return nil
}

// recordEntry adds the audit entry and the event of a change. The entry is critical if the
// classification changed or the record is deleted.
func recordEntry(c *executor.Call, r *entryRow, action string, event *op.EventType, changed []string, details map[string]any) {
	c.Record(executor.Change{
		Action: action, Type: "catalog_entry", ID: r.ID, Classification: r.Classification,
		Critical: event == contract.EventEntryDeleted || slices.Contains(changed, "classification"),
		Fields:   changed, Details: details, Event: event, Payload: r.toEntry(),
	})
}
