package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/authz"
	"parapet/internal/clock"
	contract "parapet/internal/contract/identity"
	"parapet/internal/events"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

const (
	permissionIssueForService = "api_key.issue_for_service"
	agentRole                 = "Agent"
	globalRole                = "GLOBAL"

	// ActionProvisioned is the critical audit entry of a profile's transaction.
	actionProvisioned    = "service_principal.provisioned"
	actionReconciled     = "role.reconciled"
	actionAgentsRepaired = "agents.repaired"
)

// Provisioner makes a tenant's service principals be exactly their registered
// profiles. It works as the owner of the database: no application role may write
// an integration_key.
type Provisioner struct {
	// Policies are the engine: validation is the issuance check itself.
	Policies interface {
		Policies
		Subject(ctx context.Context, in authz.SubjectInput) (*authz.Subject, error)
	}
	Clock clock.Clock
}

// ProvisionReport says what a run found and did. A run that changed nothing has
// verified every profile all the same.
type ProvisionReport struct {
	Tenant       op.UUID         `json:"tenant"`
	Organisation op.UUID         `json:"organisation"`
	Roles        []string        `json:"roles"`
	Profiles     []ProfileReport `json:"profiles"`
	Agents       []string        `json:"agents"`
}

// ProfileReport is one integration's part.
type ProfileReport struct {
	IntegrationKey string   `json:"integrationKey"`
	UserID         op.UUID  `json:"userId"`
	Changes        []string `json:"changes"`
	Verified       bool     `json:"verified"`
}

// Changed tells whether the run wrote anything.
func (r ProvisionReport) Changed() bool {
	if len(r.Roles) > 0 || len(r.Agents) > 0 {
		return true
	}
	return slices.ContainsFunc(r.Profiles, func(p ProfileReport) bool { return len(p.Changes) > 0 })
}

// Run reconciles the default roles, then each profile in a transaction of its
// own, then the agent rows. A profile that fails leaves nothing behind and does
// not stop the others; the error names each.
func (p *Provisioner) Run(ctx context.Context, conn *pgx.Conn, tenant, organisation op.UUID) (ProvisionReport, error) {
	if p.Clock == nil {
		p.Clock = clock.System{}
	}
	report := ProvisionReport{Tenant: tenant, Organisation: organisation, Roles: []string{}, Profiles: []ProfileReport{}, Agents: []string{}}
	steps := p.stepRunner(conn, tenant, organisation)
	var err error
	if report.Roles, err = steps(ctx, p.reconcileRoles); err != nil {
		return report, fmt.Errorf("default roles: %w", err)
	}
	var failed []error
	for _, profile := range p.Policies.Catalogue().Profiles {
		done := ProfileReport{IntegrationKey: profile.IntegrationKey, Changes: []string{}}
		made, err := steps(ctx, func(ctx context.Context, run *provisioning) error {
			return p.provisionProfile(ctx, run, profile, &done)
		})
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", profile.IntegrationKey, err))
		} else {
			done.Changes, done.Verified = made, true
		}
		report.Profiles = append(report.Profiles, done)
	}
	if report.Agents, err = steps(ctx, p.repairAgents); err != nil {
		failed = append(failed, fmt.Errorf("agents: %w", err))
	}
	return report, errors.Join(failed...)
}

// provisioning is one transaction of a run and what it has done so far.
type provisioning struct {
	tx           pgx.Tx
	tenant       op.UUID
	organisation op.UUID
	now          time.Time
	changes      []string
	auditEntries []systemAuditEntry
	events       []events.Event
}

func (r *provisioning) addChange(format string, args ...any) {
	r.changes = append(r.changes, fmt.Sprintf(format, args...))
}

// pathRequest gives what runs a step pathRequest a transaction: the tenant is locked and enabled,
// the organisation is one of it; audit entries and events come last, and only of
// a step that changed something.
func (p *Provisioner) stepRunner(conn *pgx.Conn, tenant, organisation op.UUID) func(context.Context, func(context.Context, *provisioning) error) ([]string, error) {
	return func(ctx context.Context, step func(context.Context, *provisioning) error) ([]string, error) {
		run := &provisioning{tenant: tenant, organisation: organisation, now: p.Clock.Now(), changes: []string{}}
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			run.tx = tx
			if err := postgres.SetTenant(ctx, tx, string(tenant)); err != nil {
				return err
			}
			if err := run.checkTenantAndOrganisation(ctx); err != nil {
				return err
			}
			if err := step(ctx, run); err != nil {
				return err
			}
			if len(run.changes) == 0 {
				return nil
			}
			return runAsModuleRole(ctx, tx, func() error {
				if err := events.Append(ctx, tx, run.events); err != nil {
					return err
				}
				return appendAudit(ctx, tx, run.auditEntries...)
			})
		})
		if err != nil {
			return []string{}, err
		}
		return run.changes, nil
	}
}

func (r *provisioning) checkTenantAndOrganisation(ctx context.Context) error {
	enabled, err := lockForProvision(ctx, r.tx, r.tenant)
	if postgres.IsNoRows(err) {
		return fault.NotFound("tenant")
	}
	if err != nil {
		return err
	}
	if !enabled {
		return fault.Conflict("The tenant is disabled.")
	}
	there, err := organisationExists(ctx, r.tx, r.tenant, r.organisation)
	if err == nil && !there {
		err = fault.NotFound("organisation in the tenant")
	}
	return err
}

// reconcileRoles makes the default roles that are missing, and gives Admin the
// permission to issue keys for services. What else administrators have made of
// the roles stays.
func (p *Provisioner) reconcileRoles(ctx context.Context, r *provisioning) error {
	for _, want := range p.Policies.Catalogue().Roles {
		role, err := findRole(ctx, r.tx, r.tenant, want.Name)
		if err != nil && !postgres.IsNoRows(err) {
			return err
		}
		if err != nil {
			role.ID = uid.New()
			if err := insertRoleRow(ctx, r.tx, r.tenant, role.ID, want.Name, want.Kind, want.Description, r.now); err != nil {
				return err
			}
			for _, grant := range want.Grants {
				if err := ensureGrant(ctx, r.tx, r.tenant, role.ID, grant, r.now); err != nil {
					return err
				}
			}
			r.addChange("role %s created", want.Name)
			r.auditRole(role.ID, "directory.role.created", map[string]any{"created": true, "grants": want.Grants})
			continue
		}
		if want.Name == p.Policies.Catalogue().AdministratorRole && !slices.Contains(role.Grants, permissionIssueForService) {
			if err := ensureGrant(ctx, r.tx, r.tenant, role.ID, permissionIssueForService, r.now); err != nil {
				return err
			}
			r.addChange("role %s received %s", want.Name, permissionIssueForService)
			r.auditRole(role.ID, "directory.role.updated", map[string]any{"granted": []string{permissionIssueForService}})
		}
	}
	return nil
}

func (r *provisioning) auditRole(id op.UUID, event string, what map[string]any) {
	r.auditEntries = append(r.auditEntries, systemAuditEntry{
		Tenant: r.tenant, ActorType: actorTypeOperator, Action: actionReconciled, ResourceType: "role", ResourceID: id, Changes: what, Critical: true,
	})
	r.emit(event, "role", id)
}

func (r *provisioning) emit(event, aggregate string, id op.UUID) {
	r.events = append(r.events, events.Event{
		Type: event, TenantID: r.tenant, AggregateType: aggregate, AggregateID: string(id), OccurredAt: r.now,
		Payload: []byte(fmt.Sprintf(`{"resource":{"id":%q}}`, id)),
	})
}

// provisionProfile makes one service principal be its provisionProfile and asks the issuance check
// whether it is.
func (p *Provisioner) provisionProfile(ctx context.Context, r *provisioning, profile authz.Profile, report *ProfileReport) error {
	role, err := r.ensureProfileRole(ctx, profile)
	if err != nil {
		return err
	}
	user, created, err := r.ensureProfileUser(ctx, profile)
	if err != nil {
		return err
	}
	report.UserID = user
	dropped, err := deleteOtherAssignments(ctx, r.tx, r.tenant, user, role)
	if err != nil {
		return err
	}
	if dropped > 0 {
		r.addChange("%d other role assignments removed", dropped)
	}
	holds, err := hasTenantWideRole(ctx, r.tx, r.tenant, user, role)
	if err != nil {
		return err
	}
	if !holds {
		if err := assignTenantWide(ctx, r.tx, r.tenant, user, role, r.now); err != nil {
			return err
		}
		r.addChange("role %s assigned", profile.Role)
	}
	if err := p.checkKeyIssuance(ctx, r, user); err != nil {
		return err
	}
	if len(r.changes) > 0 {
		event := "directory.user.updated"
		if created {
			event = "directory.user.created"
		}
		r.emit(event, "user", user)
		r.auditEntries = append(r.auditEntries, systemAuditEntry{
			Tenant: r.tenant, ActorType: actorTypeOperator, Action: actionProvisioned, ResourceType: "user", ResourceID: user, Critical: true,
			Changes: map[string]any{"integrationKey": profile.IntegrationKey, "role": role, "organisation": r.organisation, "done": r.changes},
		})
	}
	return nil
}

// ensureProfileRole gives the profile's role with exactly the profile's grants.
func (r *provisioning) ensureProfileRole(ctx context.Context, profile authz.Profile) (op.UUID, error) {
	role, err := findRole(ctx, r.tx, r.tenant, profile.Role)
	if postgres.IsNoRows(err) {
		role = roleRow{ID: uid.New(), Kind: globalRole}
		err = insertRoleRow(ctx, r.tx, r.tenant, role.ID, profile.Role, globalRole, "", r.now)
		r.addChange("role %s created", profile.Role)
	}
	if err != nil {
		return "", err
	}
	if role.Kind != globalRole {
		return "", fault.Conflict(fmt.Sprintf("The role %s exists and is not GLOBAL. Rename it, then run this again.", profile.Role))
	}
	for _, grant := range profile.Grants {
		if !slices.Contains(role.Grants, grant) {
			if err := ensureGrant(ctx, r.tx, r.tenant, role.ID, grant, r.now); err != nil {
				return "", err
			}
			r.addChange("role %s received %s", profile.Role, grant)
		}
	}
	for _, grant := range role.Grants {
		if !slices.Contains(profile.Grants, grant) {
			if err := deleteRoleGrant(ctx, r.tx, r.tenant, role.ID, grant); err != nil {
				return "", err
			}
			r.addChange("role %s lost %s", profile.Role, grant)
		}
	}
	return role.ID, nil
}

// ensureProfileUser gives the principal, a member of the organisation. One that an
// administrator has suspended stays so: the validation then says that it is not
// active.
func (r *provisioning) ensureProfileUser(ctx context.Context, profile authz.Profile) (user op.UUID, created bool, err error) {
	row, err := findService(ctx, r.tx, r.tenant, profile.IntegrationKey)
	if err != nil && !postgres.IsNoRows(err) {
		return "", false, err
	}
	if err != nil {
		slug, err := tenantSlug(ctx, r.tx, r.tenant)
		if err != nil {
			return "", false, err
		}
		row.ID, created = uid.New(), true
		err = seedUserRow(ctx, r.tx, userRow{
			ID: row.ID, Home: r.tenant, Kind: contract.KindService, IntegrationKey: profile.IntegrationKey, Status: contract.UserActive,
			// For display: .invalid is an address that nobody can have (RFC 2606).
			Email:       fmt.Sprintf("%s@%s.invalid", profile.IntegrationKey, slug),
			DisplayName: strings.ReplaceAll(profile.IntegrationKey, "-", " "),
		}, r.now)
		if err != nil {
			return "", false, err
		}
		r.addChange("principal created")
	}
	switch {
	case row.Membership == "":
		if _, err := seedMembership(ctx, r.tx, r.tenant, row.ID, r.organisation, "", r.now); err != nil {
			return "", false, err
		}
		r.addChange("membership created")
	case row.Organisation != string(r.organisation):
		if err := moveMembership(ctx, r.tx, r.tenant, row.ID, r.organisation, r.now); err != nil {
			return "", false, err
		}
		r.addChange("membership moved to the organisation")
	}
	return row.ID, created, nil
}

// checkKeyIssuance asks the very question that issuing a key asks, as an administrator
// of the tenant with the Admin role as it stands would ask it.
func (p *Provisioner) checkKeyIssuance(ctx context.Context, r *provisioning, user op.UUID) error {
	adminRole := p.Policies.Catalogue().AdministratorRole
	admin, err := findRole(ctx, r.tx, r.tenant, adminRole)
	if err != nil {
		return fmt.Errorf("role %s: %w", adminRole, err)
	}
	subject, err := p.Policies.Subject(ctx, authz.SubjectInput{
		Token:  authz.Token{Kind: authz.TokenSession, Tenant: string(r.tenant), Roles: []string{adminRole}},
		Tenant: string(r.tenant), TenantType: "STANDARD",
		User:   authz.User{ID: string(uid.Random()), Kind: authz.KindHuman},
		Stored: authz.Stored{Assignments: []authz.Assignment{{Role: adminRole, Scope: authz.ScopeTenant}}},
		Roles:  map[string][]string{adminRole: admin.Grants},
	})
	if err != nil {
		return err
	}
	principal, held, err := readPrincipal(ctx, r.tx, r.tenant, user)
	if err != nil {
		return err
	}
	v, err := p.Policies.Evaluate(ctx, authz.IssueServiceKey{Actor: subject, Target: servicePrincipal(r.tenant, principal, held)})
	return verdictError(v, err, "service principal")
}

// repairAgents makes what is an agent by its address one by its record, and
// gives agents the membership and the role that they lack.
func (p *Provisioner) repairAgents(ctx context.Context, r *provisioning) error {
	agents, err := findAgents(ctx, r.tx, r.tenant)
	if err != nil {
		return err
	}
	role, err := findRole(ctx, r.tx, r.tenant, agentRole)
	if err != nil {
		return fmt.Errorf("role %s: %w", agentRole, err)
	}
	for _, a := range agents {
		before := len(r.changes)
		if a.Kind != contract.KindAgent {
			if err := convertToAgent(ctx, r.tx, r.tenant, a.ID, r.now); err != nil {
				return err
			}
			r.addChange("%s made an agent", a.ID)
		}
		if a.Membership == "" {
			if _, err := seedMembership(ctx, r.tx, r.tenant, a.ID, r.organisation, "", r.now); err != nil {
				return err
			}
			r.addChange("%s made a member", a.ID)
		}
		if !a.HasRole {
			if err := assignTenantWide(ctx, r.tx, r.tenant, a.ID, role.ID, r.now); err != nil {
				return err
			}
			r.addChange("%s received the role %s", a.ID, agentRole)
		}
		if len(r.changes) > before {
			r.emit("directory.user.updated", "user", a.ID)
			r.auditEntries = append(r.auditEntries, systemAuditEntry{
				Tenant: r.tenant, ActorType: actorTypeOperator, Action: actionAgentsRepaired, ResourceType: "user", ResourceID: a.ID, Critical: true,
				Changes: map[string]any{"done": r.changes[before:]},
			})
		}
	}
	return nil
}
