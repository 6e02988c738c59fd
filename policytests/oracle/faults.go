package oracle

// Fault is one rule that an oracle gets wrong on purpose.
type Fault int

// The faults, by the rule that they break.
const (
	None Fault = iota

	// Clearance
	UnknownClearanceIsSecret
	UnknownClassificationIsClosed
	MissingClassificationIsOpen
	ClassificationIgnored
	ClearanceByName

	// Effective roles
	SessionForgetsStored
	SessionForgetsToken
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
	PlatformEverywhere
	OwnGrantsAll
	StoredFromToken
	StoredInAnyScope

	// Caveats
	UnknownCaveatIgnored
	MissingCaveatsAllowed
	ReadOnlyIgnored
	ProjectCaveatIgnored
	ModuleCaveatIgnored
	ProjectCaveatsAdd
	ProjectCaveatLeavesProjectless

	// Decision
	TenantIgnored
	PlatformFromAnywhere
	ScopeIgnored
	OrganisationScopeIgnored
	ProjectScopeIgnored
	CreatorIsNotOwn
	OwnerIsNotOwn
	OwnWithoutScope
	OwnByEverything
	EffectIgnored

	// Audit
	AuditOwnReadsOthers
	AuditOrganisationReadsOthers
	AuditTenantReadsClassified
	AuditClassifiedByRank
	AuditNullIsClosed

	// Keys
	KeyIssuesForService
	KeyIssuesForItself
	ServiceIssuesForItself
	NarrowedTokenIssues
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

	// Acting as
	ActAsService
	ActAsWithoutHeader
	ActAsWikiSession
	ActAsInternal

	// Operations without a permission
	OpenIgnoresEffect
	OpenIgnoresModule
	OpenIgnoresProject

	// Delegations
	LentToService
	SuspendedLends
	ServiceLends
	LendsUnlisted
	LendsOwnForAll
	LendsAnyModule
	LendsDelegating
	DelegationScopeIgnored
	DelegationForgetsCaveats
	DelegateIsOwn
	DelegatorClearanceIgnored
	DelegateClearanceIgnored
	InitiativeNotReached
	LendsToOneself
	LendsToSuspended
	LendsToService
	LendsUnheld
	LendsBeyondOneself
	LendsForever
	LendsFromThePast
	LendsBeyondLimits

	// Work
	GivenToForeigner
	GivenToSuspended
	GivenToService
	GivenToGuest
	GivenToAgentAnywhere
	GivenToUncleared
	AnyoneSpeaks
	PersonSpokenFor
	AnyoneRaises
	RaisedAnyTime
	RaiserForgotten
	HolderForgotten
	NarrowedTokenEnds
	RaisedWithoutUpdate
	OwnIsEnough
	PersonRuns
	SuspendedRuns

	// Accounts, grants and roles
	GivesInAnyScope
	OwnIsEnoughToControl
	ServiceGetsRoles
	GlobalRoleForAnybody
	GivesBeyondOneself
	RaisesOwnClearance
	ClearsAboveOneself
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

// names says each fault in words.
var names = [end]string{
	None:                           "none",
	UnknownClearanceIsSecret:       "unknown clearance is secret",
	UnknownClassificationIsClosed:  "unknown classification is closed",
	MissingClassificationIsOpen:    "missing classification is open",
	ClassificationIgnored:          "classification ignored",
	ClearanceByName:                "clearance by name",
	SessionForgetsStored:           "session forgets stored",
	SessionForgetsToken:            "session forgets token",
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
	PlatformEverywhere:             "platform everywhere",
	OwnGrantsAll:                   "own grants all",
	StoredFromToken:                "stored from token",
	StoredInAnyScope:               "stored in any scope",
	UnknownCaveatIgnored:           "unknown caveat ignored",
	MissingCaveatsAllowed:          "missing caveats allowed",
	ReadOnlyIgnored:                "read only ignored",
	ProjectCaveatIgnored:           "project caveat ignored",
	ModuleCaveatIgnored:            "module caveat ignored",
	ProjectCaveatsAdd:              "project caveats add",
	ProjectCaveatLeavesProjectless: "project caveat leaves projectless",
	TenantIgnored:                  "tenant ignored",
	PlatformFromAnywhere:           "platform from anywhere",
	ScopeIgnored:                   "scope ignored",
	OrganisationScopeIgnored:       "organisation scope ignored",
	ProjectScopeIgnored:            "project scope ignored",
	CreatorIsNotOwn:                "creator is not own",
	OwnerIsNotOwn:                  "owner is not own",
	OwnWithoutScope:                "own without scope",
	OwnByEverything:                "own by every relation",
	EffectIgnored:                  "effect ignored",
	AuditOwnReadsOthers:            "audit own reads others",
	AuditOrganisationReadsOthers:   "audit organisation reads others",
	AuditTenantReadsClassified:     "audit tenant reads classified",
	AuditClassifiedByRank:          "audit classified by rank",
	AuditNullIsClosed:              "audit null is closed",
	KeyIssuesForService:            "key issues for service",
	KeyIssuesForItself:             "key issues for itself",
	ServiceIssuesForItself:         "service issues for itself",
	NarrowedTokenIssues:            "narrowed token issues",
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
	LentToService:                  "lent to a service principal",
	SuspendedLends:                 "suspended lends",
	ServiceLends:                   "a service principal lends",
	LendsUnlisted:                  "lends what is not listed",
	LendsOwnForAll:                 "lends own for all",
	LendsAnyModule:                 "lends any module",
	LendsDelegating:                "lends delegating",
	DelegationScopeIgnored:         "delegation scope ignored",
	DelegationForgetsCaveats:       "delegation forgets caveats",
	DelegateIsOwn:                  "delegate's own",
	DelegatorClearanceIgnored:      "delegator's clearance ignored",
	DelegateClearanceIgnored:       "delegate's clearance ignored",
	InitiativeNotReached:           "initiative not reached",
	LendsToOneself:                 "lends to oneself",
	LendsToSuspended:               "lends to suspended",
	LendsToService:                 "lends to service",
	LendsUnheld:                    "lends unheld",
	LendsBeyondOneself:             "lends beyond oneself",
	GivenToForeigner:               "given to foreigner",
	GivenToSuspended:               "given to suspended",
	GivenToService:                 "given to service",
	GivenToGuest:                   "given to guest",
	GivenToAgentAnywhere:           "given to agent anywhere",
	GivenToUncleared:               "given to uncleared",
	AnyoneSpeaks:                   "anyone speaks",
	PersonSpokenFor:                "person spoken for",
	AnyoneRaises:                   "anyone raises",
	RaisedAnyTime:                  "raised any time",
	RaiserForgotten:                "raiser forgotten",
	HolderForgotten:                "holder forgotten",
	NarrowedTokenEnds:              "narrowed token ends",
	LendsForever:                   "lends forever",
	LendsFromThePast:               "lends from the past",
	LendsBeyondLimits:              "lends beyond limits",
	RaisedWithoutUpdate:            "raised without update",
	OwnIsEnough:                    "own is enough",
	PersonRuns:                     "a person runs",
	SuspendedRuns:                  "a suspended agent runs",
	GivesInAnyScope:                "gives in any scope",
	OwnIsEnoughToControl:           "own is enough to control",
	ServiceGetsRoles:               "service gets roles",
	GlobalRoleForAnybody:           "global role for anybody",
	GivesBeyondOneself:             "gives beyond oneself",
	RaisesOwnClearance:             "raises own clearance",
	ClearsAboveOneself:             "clears above oneself",
	AnyTenantIsHome:                "any tenant is home",
	AnyHomeIsAdministered:          "any home is administered",
	OnlyHomeCounts:                 "only home counts",
	AccountClearanceIgnored:        "account's clearance ignored",
	AccountDelegationsIgnored:      "account's delegations ignored",
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

// Faults are all of them but None.
func Faults() []Fault {
	out := make([]Fault, 0, end)
	for f := None + 1; f < end; f++ {
		out = append(out, f)
	}
	return out
}
