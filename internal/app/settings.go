package app

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"parapet/internal/agentcmd"
	"parapet/internal/audit"
	"parapet/internal/authz"
	"parapet/internal/mail"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/wikipath"
)

// Config holds the values of all settings of a process.
type Config struct {
	DatabaseURL  string
	DirectURL    string
	DBRoleSecret string
	Host         string
	Port         int
	Modules      []string
	Production   bool
	LogLevel     string
	LogFormat    string
	Tracing      TracingConfig
	AuthProvider string
	JWTSecret    string
	JWTPrevious  string
	CronSecret   string
	AdminTTLDays *int
	UserTTLDays  *int
	CheckTTL     time.Duration
	CheckTTLMax  time.Duration
	AgentTenants []op.UUID
	// WikiURL, WikiTokens and LessonPrefix say where agent runs find lessons.
	WikiURL      string
	WikiTokens   map[op.UUID]string
	LessonPrefix string
	AgentCommand []string
	AgentEnv     []string
	AgentTimeout time.Duration
	// Program is the path of ptd, which is also the supervisor of agent commands. If it is
	// empty, the commands run without a supervisor.
	Program string
	// ScoringTenants are the tenants with scoring and the sample rate of each.
	ScoringTenants map[op.UUID]float64
	ScoringRate    float64
	Proxies        []netip.Prefix
	Drain          time.Duration
	PoolConns      int
	TenantConns    int
	TenantQueue    int
	LockTimeout    time.Duration
	RequestTimeout time.Duration
	DecisionLog    string
	PolicyDir      string
	PolicyKey      string
	CheckpointDir  string
	CheckpointKey  string
	PostgresBin    string
	Citus          bool
	DuplicateCheck bool
	// MaxPersonalKeys is the maximum number of active personal keys per user.
	MaxPersonalKeys int
	// WebhookNetworks are networks besides the public internet that webhooks may reach.
	WebhookNetworks []netip.Prefix
	SMTPURL         string
	MailFrom        string
	PublicURL       string
	// MailToLog writes mail to the log if no mail server is configured, for `ptd dev`.
	MailToLog bool
}

// AllModules returns the names of all modules.
func AllModules() []string {
	var names []string
	for _, spec := range moduleSpecs() {
		names = append(names, spec.name)
	}
	return names
}

// Setting is one environment variable that ptd reads.
type Setting struct {
	Name    string
	Default string
	// Secret settings are never printed.
	Secret bool
	Doc    string
	set    func(c *Config, value string) error
}

// SettingError names an invalid setting and states what it must be.
type SettingError struct{ Name, Problem string }

// Error returns one line that names the setting.
func (e *SettingError) Error() string { return fmt.Sprintf("setting %s: %s", e.Name, e.Problem) }

// Settings returns all settings, in the order of docs/settings.md.
func Settings() []Setting { return slices.Concat(ownSettings(), tracingSettings()) }

// ownSettings returns the settings that only ptd has.
func ownSettings() []Setting {
	return []Setting{
		{Name: "DATABASE_URL", Doc: "Address of the database for `ptd serve`, through a connection pooler or direct. `ptd` replaces the user in it with the login role of each module. Required.", set: addressSetting(func(c *Config) *string { return &c.DatabaseURL })},
		{Name: "DIRECT_URL", Doc: "Address of the database as its owner. Only `ptd migrate`, `ptd db:create-office` and `ptd db:provision-service-principals` use it.", set: addressSetting(func(c *Config) *string { return &c.DirectURL })},
		{Name: "PT_DB_ROLE_SECRET", Secret: true, Doc: "Secret from which `ptd` derives the passwords of the database roles. Without it the roles have no password; use that only with trust or peer authentication.", set: textSetting(func(c *Config) *string { return &c.DBRoleSecret })},
		{Name: "PORT", Default: "3000", Doc: "Port of the HTTP API. 0 chooses a free port.", set: numberSetting(func(c *Config) *int { return &c.Port }, 0, 65535)},
		{Name: "PT_HOST", Default: "127.0.0.1", Doc: "IP address to listen on. 0.0.0.0 listens on every interface.", set: func(c *Config, v string) error {
			if _, err := netip.ParseAddr(v); err != nil {
				return errors.New("must be an IP address such as 127.0.0.1 or 0.0.0.0")
			}
			c.Host = v
			return nil
		}},
		{Name: "PT_MODULES", Default: strings.Join(AllModules(), ","), Doc: "Modules that this process serves, separated by commas. Same as the flag `--modules`.", set: setModules},
		{Name: "NODE_ENV", Default: "development", Doc: "`production` writes the log as JSON unless `PT_LOG_FORMAT` sets another format.", set: func(c *Config, v string) error { c.Production = v == "production"; return nil }},
		{Name: "PT_LOG_LEVEL", Default: "info", Doc: "Lowest level that is logged: debug, info, warn or error.", set: choiceSetting(func(c *Config) *string { return &c.LogLevel }, "debug", "info", "warn", "error")},
		{Name: "PT_LOG_FORMAT", Doc: "Format of the log: `text` for people or `json` for programs. If not set, `text` on a terminal and `json` otherwise.", set: choiceSetting(func(c *Config) *string { return &c.LogFormat }, "text", "json")},
		{Name: "AUTH_PROVIDER", Default: "local", Doc: "How people log in. `local` (email and password) is the only accepted value; `oidc` is reserved.", set: choiceSetting(func(c *Config) *string { return &c.AuthProvider }, "local")},
		{Name: "API_KEY_JWT_SECRET", Secret: true, Doc: "Secret that signs and verifies tokens, at least 32 bytes, base64 or raw. Required.", set: textSetting(func(c *Config) *string { return &c.JWTSecret })},
		{Name: "API_KEY_JWT_SECRET_PREVIOUS", Secret: true, Doc: "Second secret that verifies tokens and never signs them, for use during a rotation. At least 32 bytes and different from `API_KEY_JWT_SECRET`.", set: textSetting(func(c *Config) *string { return &c.JWTPrevious })},
		{Name: "API_KEY_TTL_MAX_ADMIN_DAYS", Doc: "Longest lifetime in days of an administrator's personal API key, at most 365. 30 if not set.", set: optionalNumber(func(c *Config) **int { return &c.AdminTTLDays }, 1, 365)},
		{Name: "API_KEY_TTL_MAX_USER_DAYS", Doc: "Longest lifetime in days of any other user's personal API key, at most 365. 365 if not set. Below 90, no key for a service principal can be issued.", set: optionalNumber(func(c *Config) **int { return &c.UserTTLDays }, 1, 365)},
		{Name: "API_KEY_MAX_ACTIVE_PERSONAL", Default: "50", Doc: "Largest number of active personal API keys of one user.", set: numberSetting(func(c *Config) *int { return &c.MaxPersonalKeys }, 1, 10000)},
		{Name: "PT_SMTP_URL", Secret: true, Doc: "Mail server for password reset links: `smtp://user:password@host:587` (STARTTLS is required; add `?tls=off` for a relay on the same machine) or `smtps://host`. Without it nobody can reset a password; `ptd dev` writes the links to its log instead.", set: setSMTPURL},
		{Name: "PT_MAIL_FROM", Doc: "Sender of mail, for example `Parapet <noreply@example.org>`. Required if `PT_SMTP_URL` is set.", set: func(c *Config, v string) error {
			c.MailFrom = v
			return mail.CheckFrom(v)
		}},
		{Name: "PT_PUBLIC_URL", Doc: "Address at which users reach the service, for example `https://parapet.example.org`. Links in mail start with it. Required if `PT_SMTP_URL` is set.", set: setPublicURL},
		{Name: "PT_WEBHOOK_ALLOWED_NETWORKS", Doc: "Networks as prefixes such as `10.1.0.0/16`, separated by commas, that webhooks may reach besides the public internet, also with http and on any port. Every user with the permission webhook.manage can then send requests to every host in them. None if not set.", set: setWebhookNetworks},
		{Name: "PRINCIPAL_CHECK_CACHE_TTL_MS", Default: "30000", Doc: "How long a successful principal check is cached, in milliseconds. 0 turns the cache off.", set: millisSetting(func(c *Config) *time.Duration { return &c.CheckTTL })},
		{Name: "PRINCIPAL_CHECK_CACHE_TTL_MAX_MS", Default: "60000", Doc: "Upper limit of `PRINCIPAL_CHECK_CACHE_TTL_MS`, in milliseconds. Values above 60000 count as 60000.", set: millisSetting(func(c *Config) *time.Duration { return &c.CheckTTLMax })},
		{Name: "CRON_SECRET", Secret: true, Doc: "Bearer token of the cron route (`GET /api/cron/run-scores/process`). Without it the route is turned off.", set: textSetting(func(c *Config) *string { return &c.CronSecret })},
		{Name: "AGENT_EXECUTION_TENANT_ALLOWLIST", Doc: "UUIDs, separated by commas, of the tenants in which tasks can be assigned to synthetic agents. No tenant if not set.", set: setTenants},
		{Name: "PT_AGENT_COMMAND", Doc: "Command that executes agent runs: a program and its arguments, separated by spaces or as a JSON array. No shell interprets it. It reads the task as JSON from standard input and writes the outcome as JSON to standard output. Without it agent runs stay queued.", set: func(c *Config, v string) (err error) {
			c.AgentCommand, err = agentcmd.Parse(v)
			return err
		}},
		{Name: "PT_AGENT_TIMEOUT_SECONDS", Default: "900", Doc: "Time limit of one attempt of the agent command. After it, the command and every process that it started are killed.", set: func(c *Config, v string) error {
			n, err := parseInteger(v, 1, 86400)
			c.AgentTimeout = time.Duration(n) * time.Second
			return err
		}},
		{Name: "WIKI_ZONE_URL", Doc: "Address of the wiki from which agent runs read lessons, for example `https://parapet.example.org`. Without it and `WIKI_SERVICE_TOKENS`, runs get no lessons.", set: setWikiURL},
		{Name: "WIKI_SERVICE_TOKENS", Secret: true, Doc: "API keys for the wiki: `<tenant uuid>:<key>` pairs, separated by commas, one for each tenant in `AGENT_EXECUTION_TENANT_ALLOWLIST`.", set: setWikiTokens},
		{Name: "PT_WIKI_LESSON_PREFIX", Default: "lessons", Doc: "Path in the wiki below which the lessons are: those of a project are below `<path>/<prefix of the project>`.", set: func(c *Config, v string) error {
			path, err := wikipath.Parse(v)
			c.LessonPrefix = string(path)
			return err
		}},
		{Name: "RUN_SCORING_TENANT_ALLOWLIST", Doc: "UUIDs, separated by commas, of the tenants whose finished agent runs are scored; `<uuid>:<rate>` sets the sample rate of a tenant. No tenant if not set.", set: setScoring},
		{Name: "RUN_SCORING_DEFAULT_SAMPLE_RATE", Default: "0.1", Doc: "Share of finished runs that is scored in tenants without a rate of their own, from 0 to 1.", set: func(c *Config, v string) (err error) {
			c.ScoringRate, err = parseFraction(v)
			return err
		}},
		{Name: "TASK_DUPLICATE_GATE_DISABLED", Doc: "`1` turns off the check for tasks with a similar title. Any other value leaves it on.", set: func(c *Config, v string) error { c.DuplicateCheck = v != "1"; return nil }},
		{Name: "PT_POLICY_DIR", Doc: "Folder with `policies` and `policytests` that replaces the embedded policies. `ptd` reads it at start and at every SIGHUP. It rejects a set that does not compile, fails its tests or violates an invariant: it does not start, or at SIGHUP keeps the set in use.", set: textSetting(func(c *Config) *string { return &c.PolicyDir })},
		{Name: "PT_POLICY_KEY", Doc: "Public key that must have signed the set in `PT_POLICY_DIR`. `ptd policy keygen` creates a key pair, `ptd policy sign` signs a set. Without it no signature is checked.", set: setPolicyKey},
		{Name: "PT_DECISION_LOG", Default: "all", Doc: "Which decisions are recorded in the decision log: all, denied or off.", set: choiceSetting(func(c *Config) *string { return &c.DecisionLog }, "all", "denied", "off")},
		{Name: "PT_AUDIT_CHECKPOINT_DIR", Doc: "Folder to which `ptd` writes a signed checkpoint of the audit chains every hour. All checkpoints in it have the same signing key. No checkpoints if not set.", set: textSetting(func(c *Config) *string { return &c.CheckpointDir })},
		{Name: "PT_AUDIT_CHECKPOINT_KEY", Secret: true, Doc: "Private key that signs the checkpoints (`PRIVATE+KEY+…`). `ptd audit keygen` creates one. Required if `PT_AUDIT_CHECKPOINT_DIR` is set.", set: setCheckpointKey},
		{Name: "PT_TRUSTED_PROXIES", Doc: "IP addresses or prefixes, separated by commas, of the reverse proxies whose X-Forwarded-For and X-Forwarded-Proto headers are used. No proxy is trusted if not set.", set: setProxies},
		{Name: "PT_DRAIN_SECONDS", Default: "20", Doc: "How long requests in progress may take to finish after SIGTERM.", set: func(c *Config, v string) error {
			n, err := parseInteger(v, 0, 600)
			c.Drain = time.Duration(n) * time.Second
			return err
		}},
		{Name: "PT_POOL_CONNS", Default: "16", Doc: "Largest number of database connections of each login role of this process.", set: numberSetting(func(c *Config) *int { return &c.PoolConns }, 1, 1000)},
		{Name: "PT_TENANT_CONNS", Default: "0", Doc: "How many connections of a pool one tenant can use at a time. One of them is reserved for its reads. 0 means a quarter of `PT_POOL_CONNS`, at least 2.", set: numberSetting(func(c *Config) *int { return &c.TenantConns }, 0, 1000)},
		{Name: "PT_TENANT_QUEUE", Default: "256", Doc: "How many reads of one tenant, and how many writes, may wait for a connection. A request waits for at most two seconds. A request that finds the queue full gets 503 immediately.", set: numberSetting(func(c *Config) *int { return &c.TenantQueue }, 1, 100000)},
		{Name: "PT_LOCK_TIMEOUT_MS", Default: "2000", Doc: "How long a write waits for a record that another write has locked, in milliseconds. Then it gets 503 with Retry-After.", set: func(c *Config, v string) error {
			n, err := parseInteger(v, 10, 60000)
			c.LockTimeout = time.Duration(n) * time.Millisecond
			return err
		}},
		{Name: "PT_REQUEST_TIMEOUT_SECONDS", Default: "10", Doc: "Time limit of a request, from its first wait for a connection to the commit. Then it gets 503. An import may take three times as long.", set: func(c *Config, v string) error {
			n, err := parseInteger(v, 1, 35)
			c.RequestTimeout = time.Duration(n) * time.Second
			return err
		}},
		{Name: "PT_CITUS", Doc: "`1` sets the tenant with SET LOCAL, which Citus forwards to its workers.", set: func(c *Config, v string) error {
			if v != "0" && v != "1" {
				return errors.New("must be 1 or 0")
			}
			c.Citus = v == "1"
			return nil
		}},
		{Name: "PT_POSTGRES_BIN", Doc: "Folder of the PostgreSQL binaries for `ptd dev`. If not set, `ptd` searches PATH and the usual folders.", set: textSetting(func(c *Config) *string { return &c.PostgresBin })},
	}
}

// ReadConfig builds the configuration from an environment. getenv returns "" for
// variables that are not set. The error is a *SettingError for the first invalid setting.
func ReadConfig(getenv func(string) string) (Config, error) {
	c, invalid := ReadSettings(getenv)
	if len(invalid) > 0 {
		return c, invalid[0]
	}
	return c, nil
}

// ReadSettings is ReadConfig for a caller that reports every invalid setting. An invalid
// setting has its default in the configuration.
func ReadSettings(getenv func(string) string) (Config, []*SettingError) {
	c := Config{DuplicateCheck: true, AgentEnv: agentcmd.Environment(getenv)}
	var invalid []*SettingError
	for _, s := range Settings() {
		v := getenv(s.Name)
		if v == "" {
			v = s.Default
		}
		if v == "" {
			continue
		}
		next := c
		err := s.set(&next, v)
		if strings.ContainsRune(v, 0) {
			err = errors.New("must not contain a NUL character")
		}
		if err == nil {
			c = next
			continue
		}
		invalid = append(invalid, &SettingError{s.Name, err.Error()})
		if s.Default != "" {
			_ = s.set(&c, s.Default) // a test checks that every default is valid
		}
	}
	for id, rate := range c.ScoringTenants {
		if rate == unsetRate {
			c.ScoringTenants[id] = c.ScoringRate
		}
	}
	return c, append(invalid, c.missing(invalid)...)
}

// missing returns the settings that other settings require. It does not report a setting that
// is set and invalid.
func (c Config) missing(invalid []*SettingError) []*SettingError {
	var missing []*SettingError
	require := func(name, value string, required bool, problem string) {
		isInvalid := func(s *SettingError) bool { return s.Name == name }
		if required && value == "" && !slices.ContainsFunc(invalid, isInvalid) {
			missing = append(missing, &SettingError{name, problem})
		}
	}
	missing = append(missing, c.Tracing.check()...)
	require("PT_POLICY_DIR", c.PolicyDir, c.PolicyKey != "", "must be set to the folder of the signed policies if PT_POLICY_KEY is set")
	require("PT_MAIL_FROM", c.MailFrom, c.SMTPURL != "", "must be set to the sender of mail if PT_SMTP_URL is set")
	require("PT_PUBLIC_URL", c.PublicURL, c.SMTPURL != "", "must be set if PT_SMTP_URL is set, because links in mail start with it")
	require("PT_AUDIT_CHECKPOINT_KEY", c.CheckpointKey, c.CheckpointDir != "", "must be set if PT_AUDIT_CHECKPOINT_DIR is set; ptd audit keygen creates a key")
	require("PT_AUDIT_CHECKPOINT_DIR", c.CheckpointDir, c.CheckpointKey != "", "must be set if PT_AUDIT_CHECKPOINT_KEY is set")
	return missing
}

func textSetting(field func(*Config) *string) func(*Config, string) error {
	return func(c *Config, v string) error { *field(c) = v; return nil }
}

// addressSetting parses the address of a database. The error does not repeat the address, which
// may contain a password.
func addressSetting(field func(*Config) *string) func(*Config, string) error {
	return func(c *Config, v string) error {
		if _, err := postgres.RoleURL(v, postgres.RoleAuth, ""); err != nil {
			return errors.New("must be the address of a PostgreSQL database such as postgres://owner@db.example/parapet")
		}
		*field(c) = v
		return nil
	}
}

func setPolicyKey(c *Config, v string) error {
	if err := authz.CheckPublicKey(v); err != nil {
		return errors.New("must be a public key such as policies+1a2b3c4d+…; ptd policy keygen creates one")
	}
	c.PolicyKey = v
	return nil
}

// setSMTPURL parses the address of a mail server. The error does not repeat the address,
// which may contain a password.
func setSMTPURL(c *Config, v string) error {
	c.SMTPURL = v
	_, err := mail.NewSMTP(v, "noreply@parapet.invalid")
	return err
}

func setPublicURL(c *Config, v string) error {
	u, err := url.Parse(v)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("must be an address such as https://parapet.example.org")
	}
	c.PublicURL = strings.TrimRight(v, "/")
	return nil
}

func setWikiURL(c *Config, v string) error {
	var address Config
	if err := setPublicURL(&address, v); err != nil {
		return err
	}
	c.WikiURL = address.PublicURL
	return nil
}

// setWikiTokens parses pairs of a tenant and a token. The errors do not repeat a token.
func setWikiTokens(c *Config, v string) error {
	c.WikiTokens = map[op.UUID]string{}
	for i, item := range SplitList(v) {
		name, token, _ := strings.Cut(item, ":")
		id, err := op.ParseUUID(name)
		if err != nil || strings.Count(token, ".") != 2 || strings.ContainsFunc(token, unicode.IsSpace) {
			return fmt.Errorf("item %d must be <tenant uuid>:<API key>", i+1)
		}
		if _, duplicate := c.WikiTokens[id]; duplicate {
			return fmt.Errorf("duplicate tenant %s", id)
		}
		c.WikiTokens[id] = token
	}
	return nil
}

func setCheckpointKey(c *Config, v string) error {
	if err := audit.CheckCheckpointKey(v); err != nil {
		return errors.New("must be a signing key; ptd audit keygen creates one")
	}
	c.CheckpointKey = v
	return nil
}

func parseInteger(v string, low, high int) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("must be a whole number from %d to %d", low, high)
	}
	return n, nil
}

func numberSetting(field func(*Config) *int, low, high int) func(*Config, string) error {
	return func(c *Config, v string) error {
		n, err := parseInteger(v, low, high)
		*field(c) = n
		return err
	}
}

func optionalNumber(field func(*Config) **int, low, high int) func(*Config, string) error {
	return func(c *Config, v string) error {
		n, err := parseInteger(v, low, high)
		*field(c) = &n
		return err
	}
}

func millisSetting(field func(*Config) *time.Duration) func(*Config, string) error {
	return func(c *Config, v string) error {
		n, err := parseInteger(v, 0, int(24*time.Hour/time.Millisecond))
		*field(c) = time.Duration(n) * time.Millisecond
		return err
	}
}

func choiceSetting(field func(*Config) *string, known ...string) func(*Config, string) error {
	return func(c *Config, v string) error {
		if !slices.Contains(known, v) {
			return fmt.Errorf("must be one of %s", strings.Join(known, ", "))
		}
		*field(c) = v
		return nil
	}
}

// SplitList splits a comma-separated list, trims spaces and skips empty items.
func SplitList(v string) []string {
	var items []string
	for _, item := range strings.Split(v, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

func setModules(c *Config, v string) error {
	c.Modules = SplitList(v)
	for _, m := range c.Modules {
		if !slices.Contains(AllModules(), m) {
			return fmt.Errorf("unknown module %q; known modules: %s", m, strings.Join(AllModules(), ", "))
		}
	}
	if len(c.Modules) == 0 {
		return fmt.Errorf("must name at least one module of %s", strings.Join(AllModules(), ", "))
	}
	return nil
}

func setTenants(c *Config, v string) error {
	for _, item := range SplitList(v) {
		id, err := op.ParseUUID(item)
		if err != nil {
			return fmt.Errorf("%q is not a UUID of a tenant", item)
		}
		c.AgentTenants = append(c.AgentTenants, id)
	}
	return nil
}

// parseFraction parses a number from 0 to 1.
func parseFraction(v string) (float64, error) {
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || !(n >= 0 && n <= 1) {
		return 0, errors.New("a rate must be a number from 0 to 1")
	}
	return n, nil
}

// unsetRate marks a tenant without its own rate until all settings are read.
const unsetRate = -1

func setScoring(c *Config, v string) error {
	c.ScoringTenants = map[op.UUID]float64{}
	for _, item := range SplitList(v) {
		name, rate, has := strings.Cut(item, ":")
		id, err := op.ParseUUID(name)
		if err != nil {
			return fmt.Errorf("%q must be a UUID of a tenant or <uuid>:<rate>", item)
		}
		if _, duplicate := c.ScoringTenants[id]; duplicate {
			return fmt.Errorf("duplicate tenant %s", id)
		}
		c.ScoringTenants[id] = unsetRate
		if has {
			if c.ScoringTenants[id], err = parseFraction(rate); err != nil {
				return err
			}
		}
	}
	return nil
}

func setWebhookNetworks(c *Config, v string) error {
	for _, item := range SplitList(v) {
		p, err := netip.ParsePrefix(item)
		if err != nil || p != p.Masked() || p.Addr().Is4In6() {
			return fmt.Errorf("%q must be a network such as 10.1.0.0/16 or fd00:1::/64, without bits after the prefix", item)
		}
		c.WebhookNetworks = append(c.WebhookNetworks, p)
	}
	return nil
}

func setProxies(c *Config, v string) error {
	for _, item := range SplitList(v) {
		p, err := netip.ParsePrefix(item)
		if err != nil {
			addr, parseErr := netip.ParseAddr(item)
			if parseErr != nil {
				return fmt.Errorf("%q must be an IP address or a prefix such as 10.0.0.0/8", item)
			}
			p = netip.PrefixFrom(addr, addr.BitLen())
		}
		c.Proxies = append(c.Proxies, p)
	}
	return nil
}
