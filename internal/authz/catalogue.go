package authz

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"

	"parapet/internal/fault"
)

// Catalogue is the policy data that other packages read: permissions, default roles, service
// profiles, clearance tiers and modules.
type Catalogue struct {
	Permissions []Permission
	Roles       []DefaultRole
	Profiles    []Profile
	// Tiers contains the clearance tiers, lowest first.
	Tiers   []string
	Modules []string
	// Own maps each permission P that can be held as P.own to the relations ("creator",
	// "owner") that make a record the holder's own, sorted.
	Own map[string][]string
	// AuditScopes maps each requested audit permission to the scopes that allow it.
	AuditScopes map[string][]string
	// AdministratorRole is the default role that administers a tenant.
	AdministratorRole string
	// Reasons maps each reason code of the policies to its message and remedy.
	Reasons map[string]fault.Reason
}

// Permission is an entry of the permission catalogue.
type Permission struct {
	Name        string
	Module      string
	Effect      Effect
	Description string
	// Platform is true if the permission has an effect only in a PROGRAMME_OFFICE tenant.
	Platform bool
}

// DefaultRole is a role that provisioning creates in every tenant.
type DefaultRole struct {
	Name        string
	Kind        string
	Description string
	Grants      []string
}

// Profile is a registered service profile.
type Profile struct {
	IntegrationKey string
	// Secret is the name of the CI secret that contains the key.
	Secret string
	Role   string
	Grants []string
}

// Knows reports whether the catalogue contains the permission.
func (c *Catalogue) Knows(permission string) bool {
	i := sort.Search(len(c.Permissions), func(i int) bool { return c.Permissions[i].Name >= permission })
	return i < len(c.Permissions) && c.Permissions[i].Name == permission
}

// readCatalogue reads the catalogue from the policy data. Data of another shape is an error,
// so such a set is rejected.
func readCatalogue(data map[string]any) (*Catalogue, error) {
	var d struct {
		Parapet struct {
			Catalogue struct {
				Modules     []string
				Permissions map[string]struct {
					Module, Description string
					Effect              Effect
					Platform            bool
				}
				Own map[string][]string
			}
			Roles struct {
				Administrator string
				Defaults      map[string]struct {
					Kind, Description string
					Grants            []string
				}
			}
			Clearance struct{ Ladder []string }
			Profiles  struct {
				Registered map[string]struct {
					Secret, Role string
					Grants       []string
				}
			}
			Audit   struct{ Scopes map[string][]string }
			Reasons struct{ Explained map[string]fault.Reason }
		}
	}
	text, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("authz: policy data: %w", err)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("authz: policy data: %w", err)
	}
	c := &Catalogue{
		Tiers:       d.Parapet.Clearance.Ladder,
		Modules:     d.Parapet.Catalogue.Modules,
		Own:         d.Parapet.Catalogue.Own,
		AuditScopes: d.Parapet.Audit.Scopes,

		AdministratorRole: d.Parapet.Roles.Administrator,
		Reasons:           d.Parapet.Reasons.Explained,
	}
	for code, r := range c.Reasons {
		if r.Message == "" || r.Remedy == "" {
			return nil, fmt.Errorf("authz: reason %s: message or remedy is missing", code)
		}
		r.Code = code
		c.Reasons[code] = r
	}
	if _, ok := c.Reasons[reasonNoAnswer]; !ok {
		return nil, fmt.Errorf("authz: policy data: the reason %s is missing", reasonNoAnswer)
	}
	for name, p := range d.Parapet.Catalogue.Permissions {
		if p.Effect != Read && p.Effect != Write {
			return nil, fmt.Errorf("authz: permission %s: effect %q", name, p.Effect)
		}
		c.Permissions = append(c.Permissions, Permission{name, p.Module, p.Effect, p.Description, p.Platform})
	}
	for name, relations := range c.Own {
		for _, relation := range relations {
			if relation != "creator" && relation != "owner" {
				return nil, fmt.Errorf("authz: permission %s: own: the relation must be creator or owner, not %q", name, relation)
			}
		}
	}
	sort.Slice(c.Permissions, func(i, j int) bool { return c.Permissions[i].Name < c.Permissions[j].Name })
	for name, r := range d.Parapet.Roles.Defaults {
		for _, grant := range r.Grants {
			if !c.Knows(grant) {
				return nil, fmt.Errorf("authz: role %s grants %s, which is not in the permission catalogue", name, grant)
			}
		}
		c.Roles = append(c.Roles, DefaultRole{name, r.Kind, r.Description, r.Grants})
	}
	sort.Slice(c.Roles, func(i, j int) bool { return c.Roles[i].Name < c.Roles[j].Name })
	for key, p := range d.Parapet.Profiles.Registered {
		c.Profiles = append(c.Profiles, Profile{key, p.Secret, p.Role, p.Grants})
	}
	sort.Slice(c.Profiles, func(i, j int) bool { return c.Profiles[i].IntegrationKey < c.Profiles[j].IntegrationKey })
	if !slices.ContainsFunc(c.Roles, func(r DefaultRole) bool { return r.Name == c.AdministratorRole }) {
		return nil, fmt.Errorf("authz: policy data: the administrator role %q is not a default role", c.AdministratorRole)
	}
	if len(c.Permissions) == 0 || len(c.Tiers) == 0 || len(c.Modules) == 0 {
		return nil, fmt.Errorf("authz: policy data: permissions, ladder or modules are missing")
	}
	return c, nil
}
