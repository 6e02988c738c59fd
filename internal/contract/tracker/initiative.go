package tracker

import (
	"time"

	"parapet/internal/op"
)

// The values of an initiative's status.
const (
	InitiativeActive    = "ACTIVE"
	InitiativeOnHold    = "ON_HOLD"
	InitiativeCompleted = "COMPLETED"
	InitiativeCancelled = "CANCELLED"
)

// Initiative is a goal that several projects work towards.
type Initiative struct {
	ID             op.UUID   `json:"id" doc:"The initiative's id."`
	Name           string    `json:"name" doc:"The initiative's name. Untrusted text."`
	Description    string    `json:"description" doc:"What the initiative is about. Untrusted text."`
	Status         string    `json:"status" enum:"ACTIVE|ON_HOLD|COMPLETED|CANCELLED" doc:"Where the initiative stands."`
	StartDate      op.Date   `json:"startDate" doc:"The day on which the initiative starts."`
	EndDate        op.Date   `json:"endDate,omitempty" doc:"The day on which the initiative ends; absent when open."`
	Classification string    `json:"classification" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" doc:"The tier of the initiative."`
	OrganisationID op.UUID   `json:"organisationId,omitempty" doc:"The organisation that the initiative belongs to, where there is one."`
	Progress       int       `json:"progress" doc:"The share in percent of done tasks among the tasks of its projects that are not cancelled, rounded down; 0 without any. It follows a change within moments."`
	CreatedBy      op.UUID   `json:"createdBy" doc:"The user who created the initiative."`
	CreatedAt      time.Time `json:"createdAt" doc:"When the initiative was created."`
	UpdatedAt      time.Time `json:"updatedAt" doc:"When somebody last changed the initiative."`
}

// InitiativeDetail is an initiative with its projects.
type InitiativeDetail struct {
	Initiative
	Projects     []ProjectSummary `json:"projects" doc:"The projects of the initiative that the caller may read, by name; 200 at most."`
	MoreProjects bool             `json:"moreProjects" doc:"Whether there are more than these: list-projects with initiativeId gives all."`
}

// InitiativeCandidate is one of the initiatives that an ambiguous hint fits.
type InitiativeCandidate struct {
	ID   op.UUID `json:"id"`
	Name string  `json:"name"`
}

// ListInitiativesIn asks for initiatives.
type ListInitiativesIn struct {
	Search string `query:"search" maxLength:"200" empty:"true" doc:"A part of the name or the description."`
	Status string `query:"status" enum:"ACTIVE|ON_HOLD|COMPLETED|CANCELLED" doc:"Only initiatives with this status."`
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"How many initiatives to return at most."`
	Cursor string `query:"cursor" doc:"The nextCursor of the page before."`
}

// ListInitiatives lists the initiatives that the caller may read, by name.
var ListInitiatives = op.New[ListInitiativesIn, op.Page[Initiative]](op.Spec{
	Name: "list-initiatives", Module: Module, Method: "GET", Path: "/api/initiatives", Permission: PermInitiativesRead, Effect: op.Read,
	Summary:     "List the initiatives of the organisation.",
	Description: "Initiatives that the caller may not read are left out. The list is ordered by name.",
})

// FindInitiativeIn holds a hint.
type FindInitiativeIn struct {
	Hint string `query:"hint" required:"true" maxLength:"200" doc:"An initiative's id, its name, or a part of its name."`
}

// FindInitiative resolves a hint to exactly one initiative.
var FindInitiative = op.New[FindInitiativeIn, InitiativeDetail](op.Spec{
	Name: "initiative", Module: Module, Method: "GET", Path: "/api/initiatives/find", Permission: PermInitiativesRead, Effect: op.Read,
	Summary:     "Show the one initiative that a hint means, with its projects.",
	Description: "A hint that fits more than one initiative is a CONFLICT whose details.candidates list them (id, name); it is never a guess. Projects that the caller may not read are left out.",
})

// GetInitiativeIn names an initiative.
type GetInitiativeIn struct {
	InitiativeID op.UUID `path:"initiativeId" format:"uuid" doc:"The initiative's id."`
}

// GetInitiative gives an initiative with its projects.
var GetInitiative = op.New[GetInitiativeIn, InitiativeDetail](op.Spec{
	Name: "get-initiative", Module: Module, Method: "GET", Path: "/api/initiatives/{initiativeId}", Permission: PermInitiativesRead, Effect: op.Read,
	Summary:     "Get an initiative with its projects.",
	Description: "Projects that the caller may not read are left out.",
})

// CreateInitiativeIn describes an initiative to be.
type CreateInitiativeIn struct {
	Name           string  `json:"name" required:"true" maxLength:"200" doc:"The initiative's name."`
	StartDate      op.Date `json:"startDate" required:"true" format:"date" doc:"The day on which the initiative starts."`
	EndDate        op.Date `json:"endDate" format:"date" doc:"The day on which the initiative ends."`
	Description    string  `json:"description" maxLength:"20000" doc:"What the initiative is about."`
	Classification string  `json:"classification" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" default:"UNCLASSIFIED" doc:"The tier of the initiative. Projects keep their own."`
	OrganisationID op.UUID `json:"organisationId" format:"uuid" doc:"The organisation that the initiative belongs to; the caller's own when absent."`
}

// CreateInitiative creates an initiative.
var CreateInitiative = op.New[CreateInitiativeIn, Initiative](op.Spec{
	Name: "create-initiative", Module: Module, Method: "POST", Path: "/api/initiatives", Permission: PermInitiativeCreate, Effect: op.Write, Status: 201,
	Summary:     "Create an initiative.",
	Description: "It is always ACTIVE and without projects: update-project puts a project into it.",
})

// UpdateInitiativeIn holds what is to change of an initiative.
type UpdateInitiativeIn struct {
	InitiativeID   op.UUID         `path:"initiativeId" format:"uuid" doc:"The initiative's id."`
	Name           op.Opt[string]  `json:"name" minLength:"1" maxLength:"200" doc:"A new name."`
	Status         op.Opt[string]  `json:"status" enum:"ACTIVE|ON_HOLD|COMPLETED|CANCELLED" doc:"A new status. The projects keep theirs."`
	Description    op.Opt[string]  `json:"description" maxLength:"20000" doc:"A new description; null clears it."`
	StartDate      op.Opt[op.Date] `json:"startDate" format:"date" doc:"A new first day."`
	EndDate        op.Opt[op.Date] `json:"endDate" format:"date" doc:"A new last day; null clears it."`
	Classification op.Opt[string]  `json:"classification" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" doc:"A new tier."`
	OrganisationID op.Opt[op.UUID] `json:"organisationId" format:"uuid" doc:"Another organisation; null for none."`
}

// UpdateInitiative changes an initiative.
var UpdateInitiative = op.New[UpdateInitiativeIn, Initiative](op.Spec{
	Name: "update-initiative", Module: Module, Method: "PATCH", Path: "/api/initiatives/{initiativeId}", Permission: PermInitiativeUpdate, Effect: op.Write,
	Summary:     "Change an initiative.",
	Description: "Only the fields that are given change. Raising or lowering the classification needs a clearance for both tiers.",
})

// DeleteInitiativeIn names an initiative to delete.
type DeleteInitiativeIn struct {
	InitiativeID op.UUID `path:"initiativeId" format:"uuid" doc:"The initiative's id."`
}

// DeleteInitiative deletes an initiative and nothing that belongs to it.
var DeleteInitiative = op.New[DeleteInitiativeIn, op.None](op.Spec{
	Name: "delete-initiative", Module: Module, Method: "DELETE", Path: "/api/initiatives/{initiativeId}", Permission: PermInitiativeDelete, Effect: op.Destroy, Status: 204,
	Summary:     "Delete an initiative for good.",
	Description: "Its projects stay and lose their initiative, epics that are tagged with it lose the tag, and the delegations for it end.",
})
