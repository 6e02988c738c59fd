package oracle

// Fault is a rule that an oracle evaluates incorrectly.
type Fault int

// The faults, by the package of the rule.
const (
	None Fault = iota

	// Clearance
	UnknownClearanceIsSecret
	UnknownClassificationDenies
	MissingClassificationAllows
	ClassificationIgnored
	ClearanceByName

	// Effective roles
	SessionIgnoresStored
	SessionIgnoresToken
	SessionWidensScope
	SessionKeepsClearance
	KeyReadsStored
	KeyReadsStoredClearance
	ForeignTenantTrustsToken
	ForeignTenantTrustsClearance
	ServiceLeavesItsTenant
	InternalLeavesItsTenant
	MissingScopesAreWide
	EmptyScopesAreWide
	UnknownPermissionGrants
	PlatformInStandardTenant
	OwnGrantsAll
	StoredFromToken
	StoredInAnyScope
	MemberPermissionsForAnyone

	// Caveats
	UnknownCaveatIgnored
	MissingCaveatsAllowed
	ReadOnlyIgnored
	ProjectCaveatIgnored
	ModuleCaveatIgnored
	ProjectCaveatsAdd
	ProjectCaveatAllowsProjectless

	// Access to records
	TenantIgnored
	PlatformFromAnywhere
	ScopeIgnored
	OrganisationScopeIgnored
	ProjectScopeIgnored
	CreatorIsNotOwn
	OwnerIsNotOwn
	OwnWithoutScope
	OwnByEveryRelation
	EffectIgnored

	// Audit entries
	AuditOwnReadsOthers
	AuditOrganisationReadsOthers
	AuditTenantReadsClassified
	AuditClassifiedByRank
	AuditNullDenies

	// Keys
	KeyIssuesForService
	KeyIssuesForItself
	ServiceIssuesForItself
	RestrictedTokenIssues
	EffectiveIssuesForService
	ForeignTarget
	SuspendedTarget
	ShortUserCapIgnored
	ServiceKeyLives365
	SelfNeedsNothing
	SelfBlankIsSame
	SelfCapIgnored
	SelfCeilingIgnored
	SelfZeroDays
	KeyAdministersByRecord
	AgentAdministersKeys
	ListsHumanKeys
	ListsForeignKeys
	ListNeedsNothing
	RevokesHumanKey
	RevokesOthersKey
	RevokesForeignKey

	// Profiles
	ProfileSubset
	ProfileSuperset
	ProfileTwoRoles
	ProfileStandardRole
	ProfileNarrowRole
	ProfileOfHuman

	// Acting in another tenant
	ActAsService
	ActAsWithoutHeader
	ActAsWikiSession
	ActAsInternal

	// Operations that need no permission
	OpenIgnoresEffect
	OpenIgnoresModule
	OpenIgnoresProject

	// Delegations
	ServiceReceivesDelegation
	SuspendedDelegates
	ServiceDelegates
	DelegatesUnlisted
	DelegatesOwnForAll
	DelegatesAnyModule
	DelegatesDelegations
	DelegationScopeIgnored
	DelegationIgnoresCaveats
	DelegateIsOwn
	DelegatorClearanceIgnored
	DelegateClearanceIgnored
	InitiativeExcluded
	DelegatesToOneself
	DelegatesToSuspended
	DelegatesToService
	DelegatesUnheld
	DelegatesBeyondCaller
	DelegatesForever
	DelegatesFromThePast
	DelegatesBeyondLimits

	// Work
	AssignsToOtherTenant
	AssignsToSuspended
	AssignsToService
	AssignsToGuest
	AssignsToAgentInAnyTenant
	AssignsWithoutClearance
	AnyoneActsForAgent
	ActsForPerson
	AnyoneRaisesDecision
	RaisesInAnyStatus
	RaiserCannotCancel
	HolderCannotRelease
	RestrictedTokenEnds
	RaisesWithoutUpdate
	OwnIsEnough
	StartsRunOfPerson
	StartsRunOfSuspended

	// Accounts, grants and roles
	GrantsInAnyScope
	OwnIsEnoughToControl
	ServiceGetsRoles
	GlobalRoleForAnybody
	GrantsBeyondCaller
	RaisesOwnClearance
	GrantsClearanceAboveOwn
	AnyTenantIsHome
	AnyHomeIsAdministered
	OnlyHomeCounts
	AccountClearanceIgnored
	AccountDelegationsIgnored
	ActivatesAnybody
	RestoresAnybody
	AnyAddressGetsLinks
	ChangedAuthorityResets
	LastAdministratorLeaves
	SuspendsOneself
	ServiceLosesRoles
	KeysUnlimited

	end
)

// names describes each fault.
var names = [end]string{
	None:                           "none",
	UnknownClearanceIsSecret:       "unknown clearance is secret",
	UnknownClassificationDenies:    "unknown classification denies",
	MissingClassificationAllows:    "missing classification allows",
	ClassificationIgnored:          "classification ignored",
	ClearanceByName:                "clearance by name",
	SessionIgnoresStored:           "session ignores stored",
	SessionIgnoresToken:            "session ignores token",
	SessionWidensScope:             "session widens scope",
	SessionKeepsClearance:          "session keeps clearance",
	KeyReadsStored:                 "key reads stored",
	KeyReadsStoredClearance:        "key reads stored clearance",
	ForeignTenantTrustsToken:       "foreign tenant trusts token",
	ForeignTenantTrustsClearance:   "foreign tenant trusts clearance",
	ServiceLeavesItsTenant:         "service leaves its tenant",
	InternalLeavesItsTenant:        "internal leaves its tenant",
	MissingScopesAreWide:           "missing scopes are wide",
	EmptyScopesAreWide:             "empty scopes are wide",
	UnknownPermissionGrants:        "unknown permission grants",
	PlatformInStandardTenant:       "platform in standard tenant",
	OwnGrantsAll:                   "own grants all",
	StoredFromToken:                "stored from token",
	StoredInAnyScope:               "stored in any scope",
	MemberPermissionsForAnyone:     "permissions of members for anyone",
	UnknownCaveatIgnored:           "unknown caveat ignored",
	MissingCaveatsAllowed:          "missing caveats allowed",
	ReadOnlyIgnored:                "read only ignored",
	ProjectCaveatIgnored:           "project caveat ignored",
	ModuleCaveatIgnored:            "module caveat ignored",
	ProjectCaveatsAdd:              "project caveats add",
	ProjectCaveatAllowsProjectless: "project caveat allows projectless",
	TenantIgnored:                  "tenant ignored",
	PlatformFromAnywhere:           "platform from anywhere",
	ScopeIgnored:                   "scope ignored",
	OrganisationScopeIgnored:       "organisation scope ignored",
	ProjectScopeIgnored:            "project scope ignored",
	CreatorIsNotOwn:                "creator is not own",
	OwnerIsNotOwn:                  "owner is not own",
	OwnWithoutScope:                "own without scope",
	OwnByEveryRelation:             "own by every relation",
	EffectIgnored:                  "effect ignored",
	AuditOwnReadsOthers:            "audit own reads others",
	AuditOrganisationReadsOthers:   "audit organisation reads others",
	AuditTenantReadsClassified:     "audit tenant reads classified",
	AuditClassifiedByRank:          "audit classified by rank",
	AuditNullDenies:                "audit null denies",
	KeyIssuesForService:            "key issues for service",
	KeyIssuesForItself:             "key issues for itself",
	ServiceIssuesForItself:         "service issues for itself",
	RestrictedTokenIssues:          "restricted token issues",
	EffectiveIssuesForService:      "effective issues for service",
	ForeignTarget:                  "foreign target",
	SuspendedTarget:                "suspended target",
	ShortUserCapIgnored:            "short user cap ignored",
	ServiceKeyLives365:             "service key lives 365",
	SelfNeedsNothing:               "self needs nothing",
	SelfBlankIsSame:                "self blank is same",
	SelfCapIgnored:                 "self cap ignored",
	SelfCeilingIgnored:             "self ceiling ignored",
	SelfZeroDays:                   "self zero days",
	KeyAdministersByRecord:         "key administers by record",
	AgentAdministersKeys:           "agent administers keys",
	ListsHumanKeys:                 "lists human keys",
	ListsForeignKeys:               "lists foreign keys",
	ListNeedsNothing:               "list needs nothing",
	RevokesHumanKey:                "revokes human key",
	RevokesOthersKey:               "revokes others key",
	RevokesForeignKey:              "revokes foreign key",
	ProfileSubset:                  "profile subset",
	ProfileSuperset:                "profile superset",
	ProfileTwoRoles:                "profile two roles",
	ProfileStandardRole:            "profile standard role",
	ProfileNarrowRole:              "profile narrow role",
	ProfileOfHuman:                 "profile of human",
	ActAsService:                   "act as service",
	ActAsWithoutHeader:             "act as without header",
	ActAsWikiSession:               "act as wiki session",
	ActAsInternal:                  "act as internal",
	OpenIgnoresEffect:              "open ignores effect",
	OpenIgnoresModule:              "open ignores module",
	OpenIgnoresProject:             "open ignores project",
	ServiceReceivesDelegation:      "service receives delegation",
	SuspendedDelegates:             "suspended delegates",
	ServiceDelegates:               "service delegates",
	DelegatesUnlisted:              "delegates unlisted",
	DelegatesOwnForAll:             "delegates own for all",
	DelegatesAnyModule:             "delegates any module",
	DelegatesDelegations:           "delegates delegations",
	DelegationScopeIgnored:         "delegation scope ignored",
	DelegationIgnoresCaveats:       "delegation ignores caveats",
	DelegateIsOwn:                  "delegate is own",
	DelegatorClearanceIgnored:      "delegator clearance ignored",
	DelegateClearanceIgnored:       "delegate clearance ignored",
	InitiativeExcluded:             "initiative excluded",
	DelegatesToOneself:             "delegates to oneself",
	DelegatesToSuspended:           "delegates to suspended",
	DelegatesToService:             "delegates to service",
	DelegatesUnheld:                "delegates unheld",
	DelegatesBeyondCaller:          "delegates beyond caller",
	AssignsToOtherTenant:           "assigns to other tenant",
	AssignsToSuspended:             "assigns to suspended",
	AssignsToService:               "assigns to service",
	AssignsToGuest:                 "assigns to guest",
	AssignsToAgentInAnyTenant:      "assigns to agent in any tenant",
	AssignsWithoutClearance:        "assigns without clearance",
	AnyoneActsForAgent:             "anyone acts for agent",
	ActsForPerson:                  "acts for person",
	AnyoneRaisesDecision:           "anyone raises decision",
	RaisesInAnyStatus:              "raises in any status",
	RaiserCannotCancel:             "raiser cannot cancel",
	HolderCannotRelease:            "holder cannot release",
	RestrictedTokenEnds:            "restricted token ends",
	DelegatesForever:               "delegates forever",
	DelegatesFromThePast:           "delegates from the past",
	DelegatesBeyondLimits:          "delegates beyond limits",
	RaisesWithoutUpdate:            "raises without update",
	OwnIsEnough:                    "own is enough",
	StartsRunOfPerson:              "starts run of person",
	StartsRunOfSuspended:           "starts run of suspended",
	GrantsInAnyScope:               "grants in any scope",
	OwnIsEnoughToControl:           "own is enough to control",
	ServiceGetsRoles:               "service gets roles",
	GlobalRoleForAnybody:           "global role for anybody",
	GrantsBeyondCaller:             "grants beyond caller",
	RaisesOwnClearance:             "raises own clearance",
	GrantsClearanceAboveOwn:        "grants clearance above own",
	AnyTenantIsHome:                "any tenant is home",
	AnyHomeIsAdministered:          "any home is administered",
	OnlyHomeCounts:                 "only home counts",
	AccountClearanceIgnored:        "account clearance ignored",
	AccountDelegationsIgnored:      "account delegations ignored",
	ActivatesAnybody:               "activates anybody",
	RestoresAnybody:                "restores anybody",
	AnyAddressGetsLinks:            "any address gets links",
	ChangedAuthorityResets:         "changed authority resets",
	LastAdministratorLeaves:        "last administrator leaves",
	SuspendsOneself:                "suspends oneself",
	ServiceLosesRoles:              "service loses roles",
	KeysUnlimited:                  "keys unlimited",
}

func (f Fault) String() string { return names[f] }

// Faults returns all faults except None.
func Faults() []Fault {
	out := make([]Fault, 0, end)
	for f := None + 1; f < end; f++ {
		out = append(out, f)
	}
	return out
}
