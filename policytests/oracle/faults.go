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
	ScopeIgnored
	OrganisationScopeIgnored
	ProjectScopeIgnored
	CreatorIsNotOwn
	OwnerIsNotOwn
	OwnWithoutScope
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

	end
)

// Faults are all of them but None.
func Faults() []Fault {
	out := make([]Fault, 0, end)
	for f := None + 1; f < end; f++ {
		out = append(out, f)
	}
	return out
}
