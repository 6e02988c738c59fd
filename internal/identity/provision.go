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

	// Audit actions of provisioning; all of them are critical.
	actionProvisioned    = "service_principal.provisioned"
	actionReconciled     = "role.reconciled"
	actionAgentsRepaired = "agents.repaired"
)

// Provisioner creates and updates the service principals of a tenant to match their
// registered profiles. It runs as the owner of the database, because no application role
// may write an integration_key.
type Provisioner struct {
	// Policies is the policy engine. It checks each service principal as key issuance does.
	Policies interface {
		Policies
		Subject(ctx context.Context, in authz.SubjectInput) (*authz.Subject, error)
	}
	Clock clock.Clock
}

// ProvisionReport lists the changes of a run. Every profile is verified even if nothing was
// changed.
type ProvisionReport struct {
	Tenant       op.UUID         `json:"tenant"`
	Organisation op.UUID         `json:"organisation"`
	Roles        []string        `json:"roles"`
	Profiles     []ProfileReport `json:"profiles"`
	Agents       []string        `json:"agents"`
}

// ProfileReport is the result for one integration.
type ProfileReport struct {
	IntegrationKey string   `json:"integrationKey"`
	UserID         op.UUID  `json:"userId"`
	Changes        []string `json:"changes"`
	Verified       bool     `json:"verified"`
}

// Changed reports whether the run wrote anything.
func (r ProvisionReport) Changed() bool {
	if len(r.Roles) > 0 || len(r.Agents) > 0 {
		return true
	}
	return slices.ContainsFunc(r.Profiles, func(p ProfileReport) bool { return len(p.Changes) > 0 })
}

// Run reconciles the default roles, then each profile in its own transaction, and then the
// agents. A profile that fails is rolled back and does not stop the others; the error lists
// every failed profile.
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
		result := ProfileReport{IntegrationKey: profile.IntegrationKey, Changes: []string{}}
		changes, err := steps(ctx, func(ctx context.Context, run *provisioning) error {
			return p.provisionProfile(ctx, run, profile, &result)
		})
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", profile.IntegrationKey, err))
		} else {
			result.Changes, result.Verified = changes, true
		}
		report.Profiles = append(report.Profiles, result)
	}
	if report.Agents, err = steps(ctx, p.repairAgents); err != nil {
		failed = append(failed, fmt.Errorf("agents: %w", err))
	}
	return report, errors.Join(failed...)
}

// provisioning is one transaction of a run with the changes so far.
type provisioning struct {
	tx           pgx.Tx
	tenant       op.UUID
	organisation op.UUID
	now          time.Time
	changes      []string
	auditEntries []systemAuditEntry
	changed      []changedRecord
}

func (r *provisioning) addChange(format string, args ...any) {
	r.changes = append(r.changes, fmt.Sprintf(format, args...))
}

// stepRunner returns a function that runs a step in a transaction. It locks the tenant and
// checks the tenant and the organisation first. It writes the audit entries and events last,
// and only if the step has changed something.
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
				published, err := run.buildEvents(ctx, p.Policies)
				if err != nil {
					return err
				}
				if err := events.Append(ctx, tx, published); err != nil {
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
	exists, err := organisationExists(ctx, r.tx, r.tenant, r.organisation)
	if err == nil && !exists {
		err = fault.NotFound("organisation in the tenant")
	}
	return err
}

// reconcileRoles creates the missing default roles and ensures that Admin can issue keys for
// services. It keeps all other changes that administrators have made to the roles.
func (p *Provisioner) reconcileRoles(ctx context.Context, r *provisioning) error {
	for _, want := range p.Policies.Catalogue().Roles {
		role, err := findRole(ctx, r.tx, r.tenant, want.Name)
		if err != nil && !postgres.IsNoRows(err) {
			return err
		}
		if err != nil {
			role = grantingRole{ID: uid.New(), Name: want.Name, Kind: want.Kind, Description: want.Description, Permissions: want.Grants, CreatedAt: r.now}
			if err := insertRole(ctx, r.tx, r.tenant, role); err != nil {
				return err
			}
			r.addChange("role %s created", want.Name)
			r.auditRole(role.ID, contract.EventRoleCreated, map[string]any{"created": true, "grants": want.Grants})
			continue
		}
		if want.Name != p.Policies.Catalogue().AdministratorRole {
			continue
		}
		added, err := insertGrant(ctx, r.tx, r.tenant, role.ID, permissionIssueForService, r.now)
		if err != nil {
			return err
		}
		if added {
			r.addChange("role %s received %s", want.Name, permissionIssueForService)
			r.auditRole(role.ID, contract.EventRoleUpdated, map[string]any{"granted": []string{permissionIssueForService}})
		}
	}
	return nil
}

func (r *provisioning) auditRole(id op.UUID, event *op.EventType, changes map[string]any) {
	r.auditEntries = append(r.auditEntries, systemAuditEntry{
		Tenant: r.tenant, ActorType: actorTypeOperator, Action: actionReconciled, ResourceType: "role", ResourceID: id, Changes: changes, Critical: true,
	})
	r.changed = append(r.changed, changedRecord{event, id})
}

// changedRecord is a user or role that a step has changed, and the event that reports it.
type changedRecord struct {
	event *op.EventType
	id    op.UUID
}

// buildEvents returns the events of the step, with the records in their final state.
func (r *provisioning) buildEvents(ctx context.Context, policies Policies) ([]events.Event, error) {
	list := make([]events.Event, len(r.changed))
	for i, changed := range r.changed {
		var record any
		if changed.event.Record == contract.EventUserCreated.Record {
			user, err := selectUser(ctx, r.tx, r.tenant, changed.id, false)
			if err != nil {
				return nil, err
			}
			record = user
		} else {
			role, err := selectRole(ctx, r.tx, r.tenant, changed.id, false)
			if err != nil {
				return nil, err
			}
			record = toRole(policies, role)
		}
		payload, err := events.NewPayload(changed.event, events.Payload{Resource: record})
		if err != nil {
			return nil, err
		}
		list[i] = events.Event{
			Type: changed.event.Name, TenantID: r.tenant, AggregateType: changed.event.Record, AggregateID: string(changed.id), OccurredAt: r.now, Payload: payload,
		}
	}
	return list, nil
}

// provisionProfile updates one service principal to match its profile and verifies it with
// the check of key issuance.
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
		event := contract.EventUserUpdated
		if created {
			event = contract.EventUserCreated
		}
		r.changed = append(r.changed, changedRecord{event, user})
		r.auditEntries = append(r.auditEntries, systemAuditEntry{
			Tenant: r.tenant, ActorType: actorTypeOperator, Action: actionProvisioned, ResourceType: "user", ResourceID: user, Critical: true,
			Changes: map[string]any{"integrationKey": profile.IntegrationKey, "role": role, "organisation": r.organisation, "done": r.changes},
		})
	}
	return nil
}

// ensureProfileRole returns the profile's role with exactly the profile's grants.
func (r *provisioning) ensureProfileRole(ctx context.Context, profile authz.Profile) (op.UUID, error) {
	role, err := findRole(ctx, r.tx, r.tenant, profile.Role)
	if postgres.IsNoRows(err) {
		role = grantingRole{ID: uid.New(), Name: profile.Role, Kind: globalRole, CreatedAt: r.now}
		err = insertRole(ctx, r.tx, r.tenant, role)
		r.addChange("role %s created", profile.Role)
	}
	if err != nil {
		return "", err
	}
	if role.Kind != globalRole {
		return "", fault.Conflict(fmt.Sprintf("The role %s exists and is not GLOBAL. Rename it, then run the command again.", profile.Role))
	}
	for _, grant := range profile.Grants {
		added, err := insertGrant(ctx, r.tx, r.tenant, role.ID, grant, r.now)
		if err != nil {
			return "", err
		}
		if added {
			r.addChange("role %s received %s", profile.Role, grant)
		}
	}
	for _, grant := range role.Permissions {
		if !slices.Contains(profile.Grants, grant) {
			if err := deleteGrant(ctx, r.tx, r.tenant, role.ID, grant); err != nil {
				return "", err
			}
			r.addChange("role %s lost %s", profile.Role, grant)
		}
	}
	return role.ID, nil
}

// ensureProfileUser returns the service principal as a member of the organisation. It does
// not activate a suspended principal; the verification then reports that it is not active.
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
			// For display only: the domain .invalid cannot be registered (RFC 2606).
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

// checkKeyIssuance verifies the service principal. It evaluates the policy decision of key
// issuance for an administrator with the current grants of the Admin role.
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
		Roles:  map[string][]string{adminRole: admin.Permissions},
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

// repairAgents sets the kind of users with an agent's address to AGENT and adds missing
// memberships and roles.
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
			r.addChange("%s converted to an agent", a.ID)
		}
		if a.Membership == "" {
			if _, err := seedMembership(ctx, r.tx, r.tenant, a.ID, r.organisation, "", r.now); err != nil {
				return err
			}
			r.addChange("membership of %s created", a.ID)
		}
		if !a.HasRole {
			if err := assignTenantWide(ctx, r.tx, r.tenant, a.ID, role.ID, r.now); err != nil {
				return err
			}
			r.addChange("%s received the role %s", a.ID, agentRole)
		}
		if len(r.changes) > before {
			r.changed = append(r.changed, changedRecord{contract.EventUserUpdated, a.ID})
			r.auditEntries = append(r.auditEntries, systemAuditEntry{
				Tenant: r.tenant, ActorType: actorTypeOperator, Action: actionAgentsRepaired, ResourceType: "user", ResourceID: a.ID, Critical: true,
				Changes: map[string]any{"done": r.changes[before:]},
			})
		}
	}
	return nil
}
