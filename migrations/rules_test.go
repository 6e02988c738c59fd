package migrations_test

// catalogueRule is a rule for the whole database. Its query returns violations: the
// object and the problem.
type catalogueRule struct {
	name string
	why  string
	sql  string
}

// sqlCommon defines views of the catalogue that the rules share: tables, indexes and
// functions without those of the system and of extensions, and the roles of the
// product.
//
//nolint:dupword // SQL
const sqlCommon = `
WITH extension_member AS (
	SELECT classid, objid FROM pg_depend WHERE deptype = 'e'
), schema AS (
	SELECT oid, nspname AS name, nspowner, nspacl FROM pg_namespace
	WHERE nspname NOT LIKE 'pg\_%' AND nspname <> 'information_schema'
), relation AS (
	SELECT s.name || '.' || c.relname AS name, s.name AS schema, c.*
	FROM pg_class c JOIN schema s ON s.oid = c.relnamespace
	WHERE NOT EXISTS (SELECT FROM extension_member e WHERE e.classid = 'pg_class'::regclass AND e.objid = c.oid)
), tenant_table AS (
	SELECT r.oid, r.name, r.schema, a.attnum AS tenant
	FROM relation r
	LEFT JOIN pg_attribute a ON a.attrelid = r.oid AND a.attname = 'tenant_id' AND a.atttypid = 'uuid'::regtype AND a.attnotnull
	WHERE r.relkind IN ('r', 'p')
), index AS (
	SELECT i.*, t.name AS table_name, t.tenant, s.name || '.' || c.relname AS name
	FROM pg_index i JOIN tenant_table t ON t.oid = i.indrelid
	JOIN pg_class c ON c.oid = i.indexrelid JOIN schema s ON s.oid = c.relnamespace
), function AS (
	SELECT p.*, s.name AS schema, s.name || '.' || p.proname AS name
	FROM pg_proc p JOIN schema s ON s.oid = p.pronamespace
	WHERE NOT EXISTS (SELECT FROM extension_member e WHERE e.classid = 'pg_proc'::regclass AND e.objid = p.oid)
), app_role AS (
	SELECT rolname AS name, r.* FROM pg_roles r WHERE rolname LIKE 'parapet\_%'
), reach (role, schemas) AS (VALUES
	('parapet_identity', ARRAY['identity', 'audit', 'events', 'parapet']),
	('parapet_tracker',  ARRAY['projects', 'audit', 'events', 'parapet']),
	('parapet_catalog',  ARRAY['catalog', 'audit', 'events', 'parapet']),
	('parapet_wiki',     ARRAY['wiki', 'audit', 'events', 'parapet']),
	('parapet_auth',     ARRAY['identity', 'audit', 'events', 'parapet']),
	('parapet_jobs',     ARRAY['identity', 'audit', 'events', 'river', 'parapet']),
	('parapet_context',  ARRAY['identity']),
	('parapet_search',   ARRAY['projects', 'catalog', 'wiki'])
), grants AS (
	SELECT r.name, r.schema, x.grantee, x.privilege_type, x.is_grantable, r.relowner AS owner
	FROM relation r, aclexplode(r.relacl) x
	UNION ALL
	SELECT r.name || '.' || a.attname, r.schema, x.grantee, x.privilege_type, x.is_grantable, r.relowner
	FROM relation r JOIN pg_attribute a ON a.attrelid = r.oid, aclexplode(a.attacl) x
	UNION ALL
	SELECT f.name, f.schema, x.grantee, x.privilege_type, x.is_grantable, f.proowner
	FROM function f, aclexplode(coalesce(f.proacl, acldefault('f', f.proowner))) x
	UNION ALL
	SELECT s.name, s.name, x.grantee, x.privilege_type, x.is_grantable, s.nspowner
	FROM schema s, aclexplode(s.nspacl) x
	UNION ALL
	SELECT 'database', NULL, x.grantee, x.privilege_type, x.is_grantable, d.datdba
	FROM pg_database d, aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) x
	WHERE d.datname = current_database()
)
`

var catalogueRules = []catalogueRule{
	{"tenant column", "without a tenant column, a row cannot be isolated",
		`SELECT name, 'has no column tenant_id uuid NOT NULL' FROM tenant_table WHERE tenant IS NULL`},
	{"primary key", "a duplicate key must not reveal another tenant's id; tables are distributed by tenant",
		`SELECT t.name, 'the primary key does not begin with tenant_id'
		FROM tenant_table t LEFT JOIN index i ON i.indrelid = t.oid AND i.indisprimary
		WHERE i.indexrelid IS NULL OR i.indkey[0] IS DISTINCT FROM t.tenant`},
	{"unique", "a unique index over all tenants reveals values of other tenants",
		`SELECT name, 'a unique index does not begin with tenant_id' FROM index
		WHERE indisunique AND NOT indisprimary AND indkey[0] IS DISTINCT FROM tenant`},
	{"index", "every query filters by tenant, so the index must start with it",
		`SELECT name, 'an index does not begin with tenant_id' FROM index
		WHERE NOT indisunique AND indkey[0] IS DISTINCT FROM tenant`},
	{"foreign key", "a reference must not reveal that another tenant's row exists",
		`SELECT t.name || '.' || c.conname, 'the foreign key does not lead from tenant_id to tenant_id'
		FROM pg_constraint c JOIN tenant_table t ON t.oid = c.conrelid JOIN tenant_table target ON target.oid = c.confrelid
		WHERE c.contype = 'f'
		  AND (c.conkey[1] IS DISTINCT FROM t.tenant OR c.confkey[1] IS DISTINCT FROM target.tenant)
		  AND target.name NOT IN ('identity.tenants', 'identity.users')`},
	{"foreign key across schemas", "a module does not depend on another schema and can be deployed without it",
		`SELECT t.name || '.' || c.conname, 'the foreign key leads to ' || target.name
		FROM pg_constraint c JOIN tenant_table t ON t.oid = c.conrelid JOIN tenant_table target ON target.oid = c.confrelid
		WHERE c.contype = 'f' AND t.schema <> target.schema`},
	{"row-level security", "row-level security is the last line of defence and must also apply to the owner",
		`SELECT r.name, 'row-level security is not enabled and forced' FROM relation r
		WHERE r.relkind IN ('r', 'p') AND NOT (r.relrowsecurity AND r.relforcerowsecurity)`},
	{"policy", "a policy for a role that works in a tenant must compare the tenant column with the null-guarded setting",
		`SELECT r.name || '.' || p.polname, kind || ' is ' || coalesce(expr, 'missing')
		FROM pg_policy p JOIN relation r ON r.oid = p.polrelid
		CROSS JOIN LATERAL (VALUES
			('USING', pg_get_expr(p.polqual, p.polrelid), p.polcmd <> 'a'),
			('WITH CHECK', coalesce(pg_get_expr(p.polwithcheck, p.polrelid), pg_get_expr(p.polqual, p.polrelid)), p.polcmd IN ('a', 'w', '*'))
		) AS e (kind, expr, applies)
		WHERE applies AND p.polpermissive -- a restrictive one only takes away
		  AND (expr IS NULL OR expr ILIKE '%select%'
		    OR (expr <> '(tenant_id = ' || guarded || ')' AND expr NOT LIKE '((tenant_id = ' || replace(guarded, '_', '\_') || ') AND %'))`},
	{"setting", "after the transaction the setting is empty and not NULL: without the guard, the cast fails or matches",
		`SELECT r.name || '.' || p.polname, 'reads a setting without the guard'
		FROM pg_policy p JOIN relation r ON r.oid = p.polrelid
		CROSS JOIN LATERAL (VALUES (pg_get_expr(p.polqual, p.polrelid)), (pg_get_expr(p.polwithcheck, p.polrelid))) AS e (expr)
		WHERE replace(expr, guarded, '') LIKE '%current\_setting%'`},
	{"view", "a view with its owner's privileges shows every tenant",
		`SELECT name, 'is not security_invoker' FROM relation
		WHERE relkind = 'v' AND NOT coalesce(reloptions::text[] && ARRAY['security_invoker=true', 'security_invoker=on', 'security_invoker=1'], false)`},
	{"kind of relation", "materialized views and foreign tables have no row-level security",
		`SELECT name, 'is a materialized view or a foreign table' FROM relation WHERE relkind IN ('m', 'f')`},
	{"persistence", "an unlogged table is empty after a crash",
		`SELECT name, 'is not permanent' FROM relation WHERE relkind IN ('r', 'p') AND relpersistence <> 'p'`},
	{"rewrite rule", "a rewrite rule can bypass grants",
		`SELECT r.name || '.' || w.rulename, 'is a rewrite rule' FROM pg_rewrite w JOIN relation r ON r.oid = w.ev_class
		WHERE w.rulename <> '_RETURN'`},
	{"security definer", "it runs with its owner's privileges for every caller",
		`SELECT name, 'is SECURITY DEFINER' FROM function WHERE prosecdef`},
	{"search path", "without a fixed search_path, the caller controls which objects a SECURITY DEFINER function uses",
		`SELECT name, 'is SECURITY DEFINER, and its search_path is not pg_catalog, pg_temp' FROM function
		WHERE prosecdef AND NOT coalesce(proconfig @> ARRAY['search_path=pg_catalog, pg_temp'], false)`},
	{"definer's owner", "a SECURITY DEFINER function runs with the privileges of its owner, so the owner must have few",
		`SELECT f.name, 'is SECURITY DEFINER and owned by ' || r.rolname FROM function f JOIN pg_roles r ON r.oid = f.proowner
		WHERE f.prosecdef AND (r.rolsuper OR r.rolbypassrls OR r.rolcanlogin)`},
	{"leakproof", "a function that claims to be leakproof sees rows before the policy does",
		`SELECT name, 'claims to be leakproof' FROM function WHERE proleakproof`},
	{"enum", "only operators that are leakproof become index conditions under row-level security; those of enums are not",
		`SELECT r.name || '.' || a.attname, 'is an enum' FROM pg_attribute a JOIN relation r ON r.oid = a.attrelid
		JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type el ON el.oid = t.typelem
		WHERE r.relkind IN ('r', 'p', 'v') AND NOT a.attisdropped AND (t.typtype = 'e' OR el.typtype = 'e')`},
	{"role attributes", "the application's roles have no special attributes",
		`SELECT name, 'is more than it may be' FROM app_role
		WHERE rolsuper OR rolbypassrls OR rolcreatedb OR rolcreaterole OR rolinherit OR rolreplication
		   OR rolcanlogin <> (name NOT IN ('parapet_context', 'parapet_search'))`},
	{"role list", "every role must be listed",
		`SELECT wanted, 'does not exist' FROM unnest(ARRAY['parapet_identity', 'parapet_tracker', 'parapet_catalog', 'parapet_wiki',
			'parapet_auth', 'parapet_jobs', 'parapet_app', 'parapet_context', 'parapet_search']) AS wanted
		WHERE wanted NOT IN (SELECT name FROM app_role)
		UNION ALL
		SELECT name, 'is not a role of the product' FROM app_role
		WHERE name <> 'parapet_app' AND name NOT IN (SELECT role FROM reach)`},
	{"ownership", "an owner can grant itself any privilege",
		`SELECT r.name, 'owns ' || pg_describe_object(d.classid, d.objid, d.objsubid)
		FROM pg_shdepend d JOIN app_role r ON r.oid = d.refobjid
		WHERE d.refclassid = 'pg_authid'::regclass AND d.deptype = 'o'
		  AND d.dbid IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))`},
	{"role membership", "a member can switch to the role",
		`SELECT r.name, 'is a member of ' || g.rolname FROM pg_auth_members m
		JOIN app_role r ON r.oid = m.member JOIN pg_roles g ON g.oid = m.roleid`},
	{"public grant", "PUBLIC includes all future roles",
		`SELECT name, 'PUBLIC has ' || privilege_type FROM grants WHERE grantee = 0`},
	{"privilege", "only the necessary privileges: no TRUNCATE (policies and row triggers do not apply to it), TRIGGER, REFERENCES, CREATE or grant option",
		`SELECT g.name, r.name || ' has ' || g.privilege_type || CASE WHEN g.is_grantable THEN ' with grant option' ELSE '' END
		FROM grants g JOIN app_role r ON r.oid = g.grantee
		WHERE g.grantee <> g.owner
		  AND (g.is_grantable OR g.privilege_type NOT IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE', 'EXECUTE', 'USAGE', 'CONNECT'))`},
	{"reach", "a module accesses only its own schema",
		`SELECT g.name, r.name || ' has ' || g.privilege_type FROM grants g JOIN app_role r ON r.oid = g.grantee
		LEFT JOIN reach ON reach.role = r.name
		WHERE g.schema IS NOT NULL AND g.schema <> 'public' AND NOT coalesce(g.schema = ANY (reach.schemas), false)`},
	{"audit", "entries are immutable",
		`SELECT g.name, r.rolname || ' has ' || g.privilege_type FROM grants g JOIN pg_roles r ON r.oid = g.grantee
		WHERE (g.name = 'audit.entries' OR g.name LIKE 'audit.entries.%')
		  AND g.grantee <> g.owner AND g.privilege_type NOT IN ('SELECT', 'INSERT')`},
	{"default privileges", "objects that are created later must not be open to PUBLIC",
		`SELECT 'functions', 'of ' || current_user || ' are executable by PUBLIC when created'
		WHERE NOT EXISTS (SELECT FROM pg_default_acl
			WHERE defaclrole = current_user::regrole AND defaclobjtype = 'f' AND defaclnamespace = 0)
		UNION ALL
		SELECT 'default privileges', 'PUBLIC gets ' || x.privilege_type FROM pg_default_acl d, aclexplode(d.defaclacl) x WHERE x.grantee = 0`},
	{"schema public", "it is on every search_path, so it may contain only extensions",
		`SELECT name, 'is in schema public' FROM relation WHERE schema = 'public'
		UNION ALL SELECT name, 'is in schema public' FROM function WHERE schema = 'public'`},
	{"trigger", "a disabled trigger has no effect",
		`SELECT r.name || '.' || t.tgname, 'is disabled' FROM pg_trigger t JOIN relation r ON r.oid = t.tgrelid WHERE t.tgenabled IN ('D', 'R')`},
}

// exception is an intended violation with its reason. The object may end in *.
type exception struct{ rule, object, reason string }

const (
	ofRiver     = "River's schema has no tenants; only parapet_jobs can access it, and job arguments contain the tenant"
	directory   = "the directory that tenant-scoped tables refer to; its policies use another column for the tenant"
	chain       = "chain_id is the tenant, or the zero uuid for entries without one, which tenant_id NOT NULL could not be"
	allTenants  = "parapet_jobs works in all tenants: dispatching, retention, verification, expiry"
	credentials = "parapet_auth checks a credential before a tenant is known"
	searchRead  = "the search functions use an operator that is not leakproof; their owner cannot log in and can read only the term tables"
	contextRead = "identity.tenant_context returns data of one user in one tenant, and identity.find_members ids of the current tenant's members; their owner cannot log in"
	zeroTenant  = "parapet_auth also records what happens before a tenant is known, under the zero uuid"
	byAge       = "parapet_jobs reads the rows of all tenants by age or in order"
)

var exceptions = []exception{
	{"tenant column", "river.*", ofRiver},
	{"primary key", "river.*", ofRiver},
	{"unique", "river.*", ofRiver},
	{"index", "river.*", ofRiver},
	{"row-level security", "river.*", ofRiver},
	{"persistence", "river.river_leader", "the elected leader; an empty table means an election"},
	{"enum", "river.*", ofRiver},

	{"tenant column", "parapet.migrations", "the history of the schema, the same for all tenants"},
	{"primary key", "parapet.migrations", "the history of the schema, the same for all tenants"},
	{"row-level security", "parapet.migrations", "the history of the schema, the same for all tenants; read only"},

	{"tenant column", "identity.tenants", directory},
	{"primary key", "identity.tenants", directory},
	{"unique", "identity.tenants_slug_key", "a slug names one tenant among all"},
	{"index", "identity.tenants_by_office", directory},
	{"policy", "identity.tenants.tenant_isolation", directory},
	{"tenant column", "identity.users", directory},
	{"primary key", "identity.users", directory},
	{"unique", "identity.users_integration_key_once", "begins with home_tenant_id, the tenant that administers the user"},
	{"unique", "identity.users_email_once", "begins with home_tenant_id, the tenant that administers the user"},
	{"index", "identity.users_by_email", "login searches for an account in all tenants"},
	{"index", "identity.users_by_name", "a tenant's members can have their home in another"},
	{"index", "identity.users_by_trigram", "a tenant's members can have their home in another"},
	{"policy", "identity.users.tenant_isolation", directory},
	{"policy", "identity.users.member_read", "a tenant reads its members, whose home may be another; the function reads the same setting"},
	{"index", "identity.memberships_by_user", "the check of a credential reads all memberships of its user"},
	{"policy", "identity.*.auth_read", credentials},
	{"policy", "identity.api_keys.auth_use", credentials},
	{"policy", "identity.sessions.auth_sessions", credentials},
	{"policy", "identity.password_resets.expired", "parapet_auth deletes expired rows of every tenant; it cannot read the hash"},
	{"policy", "identity.*.jobs_read", allTenants},
	{"policy", "identity.*.context_read", contextRead},
	{"security definer", "identity.tenant_context", "a module validates each request's tenant without reading the directory"},
	{"security definer", "identity.find_members", contextRead},
	{"ownership", "parapet_context", "owns identity.tenant_context and identity.find_members, and cannot log in"},
	{"reach", "identity", "all modules may call identity.tenant_context; the schema's tables are not granted to them"},
	{"reach", "identity.tenant_context", "the one function that all modules call"},

	{"index", "projects.search_terms_by_term", "every term begins with a part of the tenant's id"},
	{"index", "projects.issue_terms_by_term", "every term begins with a part of the tenant's id"},
	{"policy", "projects.search_terms.search_read", searchRead},
	{"policy", "projects.issue_terms.search_read", searchRead},
	{"security definer", "projects.search_tasks", searchRead},
	{"security definer", "projects.search_tenant_tasks", searchRead},
	{"security definer", "projects.search_issues", searchRead},
	{"index", "catalog.entry_terms_by_term", "every term begins with a part of the tenant's id"},
	{"policy", "catalog.entry_terms.search_read", searchRead},
	{"security definer", "catalog.search_entries", searchRead},
	{"index", "wiki.page_terms_by_term", "every term begins with a part of the tenant's id"},
	{"policy", "wiki.page_terms.search_read", searchRead},
	{"security definer", "wiki.search_pages", searchRead},
	{"ownership", "parapet_search", "owns the search functions and cannot log in"},

	{"tenant column", "audit.entries", chain},
	{"primary key", "audit.entries", chain},
	{"index", "audit.entries_by_actor", chain},
	{"index", "audit.entries_by_resource", chain},
	{"index", "audit.entries_by_credential", chain},
	{"policy", "audit.entries.append", chain},
	{"policy", "audit.entries.append_auth", zeroTenant},
	{"policy", "audit.entries.read", chain},
	{"policy", "audit.entries.read_all", allTenants},
	{"tenant column", "audit.heads", chain},
	{"primary key", "audit.heads", chain},
	{"policy", "audit.heads.tenant_isolation", chain},
	{"policy", "audit.heads.auth", zeroTenant},
	{"policy", "audit.heads.read_all", allTenants},
	{"index", "audit.decisions_age", byAge},
	{"policy", "audit.decisions.jobs", allTenants},
	{"policy", "audit.decision_subjects.jobs", allTenants},

	{"index", "events.outbox_undispatched", byAge},
	{"index", "events.outbox_dispatched", byAge},
	{"index", "events.deliveries_queue", byAge},
	{"index", "events.deliveries_failing", byAge},
	{"index", "events.processed_age", byAge},
	{"index", "events.notifications_age", byAge},
	{"index", "events.webhook_deliveries_age", byAge},
	{"policy", "events.outbox.publish_auth", zeroTenant},
	{"policy", "events.*.dispatch", allTenants},
	{"policy", "events.idempotency_keys.idempotency_keys_housekeeping", allTenants},

	{"index", "projects.claims_lapsing", byAge},
	{"policy", "projects.claims.jobs_read", allTenants},
	{"reach", "projects", "parapet_jobs reads in which tenants leases have expired"},
	{"reach", "projects.claims.*", "parapet_jobs reads only the tenant and the expiry of a lease"},
}
