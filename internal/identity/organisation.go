package identity

import (
	"context"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/uid"
)

func (s *Service) organisationOperations() []op.Bound {
	return []op.Bound{
		executor.List(s.executor, contract.ListOrganisations, organisationType.Columns(), listOrganisations),
		executor.Handle(s.executor, contract.CreateOrganisation, loadNewOrganisation, createOrganisation),
		executor.Handle(s.executor, contract.GetOrganisation, loadOrganisationToRead, getOrganisation),
		executor.Handle(s.executor, contract.UpdateOrganisation, loadOrganisationToUpdate, updateOrganisation),
	}
}

func loadOrganisationToRead(ctx context.Context, c *executor.Call, in *contract.OrganisationIn) (contract.Organisation, authz.Resource, error) {
	return loadOrganisation(ctx, c, in.OrganisationID, false)
}

func loadOrganisationToUpdate(ctx context.Context, c *executor.Call, in *contract.UpdateOrganisationIn) (contract.Organisation, authz.Resource, error) {
	return loadOrganisation(ctx, c, in.OrganisationID, true)
}

func getOrganisation(_ context.Context, _ *executor.Call, _ *contract.OrganisationIn, o contract.Organisation) (*contract.Organisation, error) {
	return &o, nil
}

// organisationType maps the attributes of an organisation to columns of the alias o.
var organisationType = authz.NewRecordType("organisation", authz.Attributes[contract.Organisation]{
	Tenant:         authz.NewAttribute("o.tenant_id", func(o *contract.Organisation) string { return string(o.TenantID) }),
	ID:             authz.NewAttribute("o.id", func(o *contract.Organisation) string { return string(o.ID) }),
	Organisation:   authz.NewAttribute("o.id", func(o *contract.Organisation) string { return string(o.ID) }),
	Classification: authz.FixedAttribute[contract.Organisation](directoryClassification),
})

func listOrganisations(ctx context.Context, c *executor.Call, in *contract.ListOrganisationsIn, f authz.Filter) (*op.Page[contract.Organisation], error) {
	name, id, err := cursorKeys(c, contract.ListOrganisations.Operation, in.Cursor)
	if err != nil {
		return nil, err
	}
	items, err := selectOrganisations(ctx, c.DB, c.Tenant, in, name, id, f)
	if err != nil {
		return nil, err
	}
	return op.NewPage(items, in.Limit, func(o *contract.Organisation) string {
		return op.NewCursor(contract.ListOrganisations.Name, c.Tenant, sortKey(o.Name), string(o.ID))
	}), nil
}

func loadOrganisation(ctx context.Context, c *executor.Call, id op.UUID, lock bool) (contract.Organisation, authz.Resource, error) {
	o, err := selectOrganisation(ctx, c.DB, c.Tenant, id, lock)
	return o, organisationType.Resource(string(c.Tenant), &o), err
}

func loadNewOrganisation(_ context.Context, c *executor.Call, in *contract.CreateOrganisationIn) (contract.Organisation, authz.Resource, error) {
	name, err := trimName("name", in.Name)
	o := contract.Organisation{
		ID: uid.New(), TenantID: c.Tenant, Name: name, Type: in.Type, VerificationStatus: in.VerificationStatus,
		CreatedAt: c.Now, UpdatedAt: c.Now,
	}
	return o, organisationType.Resource(string(c.Tenant), &o), err
}

func createOrganisation(ctx context.Context, c *executor.Call, _ *contract.CreateOrganisationIn, o contract.Organisation) (*contract.Organisation, error) {
	if err := insertOrganisation(ctx, c.DB, o); err != nil {
		return nil, err
	}
	c.Record(executor.Change{
		Action: contract.ActionOrganisationCreated, Type: "organisation", ID: o.ID,
		Details: auditChanges{"type": o.Type, "verificationStatus": o.VerificationStatus},
		Event:   contract.EventOrganisationCreated, Payload: o,
	})
	return &o, nil
}

func updateOrganisation(ctx context.Context, c *executor.Call, in *contract.UpdateOrganisationIn, o contract.Organisation) (*contract.Organisation, error) {
	old := o
	var p op.Patch
	op.SetTrimmed(&p, "name", &o.Name, in.Name)
	op.Set(&p, "type", &o.Type, in.Type)
	op.Set(&p, "verificationStatus", &o.VerificationStatus, in.VerificationStatus)
	fields, err := p.Changed()
	if err != nil {
		return nil, err
	}
	changes := auditChanges{}
	if o.Type != old.Type {
		changes["type"] = o.Type
	}
	if o.VerificationStatus != old.VerificationStatus {
		changes["verificationStatus"] = o.VerificationStatus
	}
	if len(fields) == 0 {
		return showUnchanged(ctx, c, contract.GetOrganisation.Permission, organisationType.Resource(string(c.Tenant), &o), &o)
	}
	o.UpdatedAt = c.Now
	if err := writeOrganisation(ctx, c.DB, o); err != nil {
		return nil, err
	}
	changes["fields"] = fields
	c.Record(executor.Change{
		Action: contract.ActionOrganisationUpdated, Type: "organisation", ID: o.ID,
		Fields: fields, Details: changes,
		Event: contract.EventOrganisationUpdated, Payload: o,
	})
	return &o, nil
}
