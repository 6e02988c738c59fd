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

// Initiative is a goal that groups several projects.
type Initiative struct {
	ID             op.UUID       `json:"id" doc:"The initiative's id."`
	Name           string        `json:"name" doc:"The initiative's name. Untrusted text."`
	Description    string        `json:"description" doc:"The initiative's description. Untrusted text."`
	Status         string        `json:"status" enum:"ACTIVE|ON_HOLD|COMPLETED|CANCELLED" doc:"The initiative's status."`
	StartDate      op.Date       `json:"startDate" doc:"The initiative's start date."`
	EndDate        op.Date       `json:"endDate,omitempty" doc:"The initiative's end date; absent if open-ended."`
	Classification string        `json:"classification" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" doc:"The initiative's classification."`
	OrganisationID op.UUID       `json:"organisationId,omitempty" doc:"The organisation that the initiative belongs to; absent if it belongs to none."`
	Organisation   *op.Reference `json:"organisation,omitempty" doc:"The name of the record that organisationId identifies."`
	Progress       int           `json:"progress" doc:"Percentage of done tasks among the tasks of its projects that are not cancelled, rounded down; 0 if there are none. Updated asynchronously after each change."`
	CreatedBy      op.UUID       `json:"createdBy" doc:"The user who created the initiative."`
	CreatedByUser  *op.Reference `json:"createdByUser,omitempty" doc:"The name of the record that createdBy identifies."`
	CreatedAt      time.Time     `json:"createdAt" doc:"When the initiative was created."`
	UpdatedAt      time.Time     `json:"updatedAt" doc:"When the initiative was last changed by a user."`
}

// InitiativeDetail is an initiative with its projects.
type InitiativeDetail struct {
	Initiative
	Projects     []ProjectSummary `json:"projects" doc:"The projects of the initiative that the caller may read, by name; at most 200."`
	MoreProjects bool             `json:"moreProjects" doc:"Whether projects lists only the first 200; list-projects with initiativeId lists all."`
}

// InitiativeCandidate is one of the initiatives that an ambiguous hint matches.
type InitiativeCandidate struct {
	ID   op.UUID `json:"id"`
	Name string  `json:"name"`
}

// ListInitiativesIn is the input of ListInitiatives.
type ListInitiativesIn struct {
	Search string `query:"search" maxLength:"200" empty:"true" doc:"A substring of the name or the description."`
	Status string `query:"status" enum:"ACTIVE|ON_HOLD|COMPLETED|CANCELLED" doc:"Only initiatives with this status."`
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"The maximum number of initiatives to return."`
	Cursor string `query:"cursor" doc:"The nextCursor of the previous page."`
}

// ListInitiatives lists the initiatives that the caller may read, by name.
var ListInitiatives = op.Declare[ListInitiativesIn, op.Page[Initiative]](Contract, op.Spec{
	Name: "list-initiatives", Method: "GET", Path: "/api/initiatives", Permission: PermInitiativesRead, Effect: op.Read,
	Summary:     "List the initiatives of the organisation.",
	Description: "Omits initiatives that the caller may not read. Ordered by name.",
})

// FindInitiativeIn is the input of FindInitiative.
type FindInitiativeIn struct {
	Hint string `query:"hint" required:"true" maxLength:"200" doc:"An initiative's id, its name, or a substring of its name."`
}

// FindInitiative resolves a hint to exactly one initiative.
var FindInitiative = op.Declare[FindInitiativeIn, InitiativeDetail](Contract, op.Spec{
	Name: "initiative", Method: "GET", Path: "/api/initiatives/find", Permission: PermInitiativesRead, Effect: op.Read,
	Summary:     "Find an initiative by hint and show it with its projects.",
	Description: "Fails with CONFLICT if the hint matches more than one initiative; details.candidates lists them (id, name). Omits projects that the caller may not read.",
})

// GetInitiativeIn is the input of GetInitiative.
type GetInitiativeIn struct {
	InitiativeID op.UUID `path:"initiativeId" format:"uuid" doc:"The initiative."`
}

// GetInitiative returns an initiative with its projects.
var GetInitiative = op.Declare[GetInitiativeIn, InitiativeDetail](Contract, op.Spec{
	Name: "get-initiative", Method: "GET", Path: "/api/initiatives/{initiativeId}", Permission: PermInitiativesRead, Effect: op.Read,
	Summary:     "Get an initiative with its projects.",
	Description: "Omits projects that the caller may not read.",
})

// CreateInitiativeIn is the input of CreateInitiative.
type CreateInitiativeIn struct {
	Name           string  `json:"name" required:"true" maxLength:"200" doc:"The initiative's name."`
	StartDate      op.Date `json:"startDate" required:"true" format:"date" doc:"The initiative's start date."`
	EndDate        op.Date `json:"endDate" format:"date" doc:"The initiative's end date."`
	Description    string  `json:"description" maxLength:"20000" doc:"The initiative's description."`
	Classification string  `json:"classification" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" default:"UNCLASSIFIED" doc:"The initiative's classification. Projects keep their own classification."`
	OrganisationID op.UUID `json:"organisationId" format:"uuid" doc:"The organisation that the initiative belongs to. Default: the caller's organisation."`
}

// CreateInitiative creates an initiative.
var CreateInitiative = op.Declare[CreateInitiativeIn, Initiative](Contract, op.Spec{
	Name: "create-initiative", Method: "POST", Path: "/api/initiatives", Permission: PermInitiativeCreate, Effect: op.Write, Status: 201,
	Summary:     "Create an initiative.",
	Description: "A new initiative is ACTIVE and has no projects; update-project adds a project to it.",
})

// UpdateInitiativeIn is the input of UpdateInitiative.
type UpdateInitiativeIn struct {
	InitiativeID   op.UUID         `path:"initiativeId" format:"uuid" doc:"The initiative."`
	Name           op.Opt[string]  `json:"name" minLength:"1" maxLength:"200" doc:"A new name."`
	Status         op.Opt[string]  `json:"status" enum:"ACTIVE|ON_HOLD|COMPLETED|CANCELLED" doc:"A new status. Projects keep their own status."`
	Description    op.Opt[string]  `json:"description" maxLength:"20000" doc:"A new description; null clears it."`
	StartDate      op.Opt[op.Date] `json:"startDate" format:"date" doc:"A new start date."`
	EndDate        op.Opt[op.Date] `json:"endDate" format:"date" doc:"A new end date; null clears it."`
	Classification op.Opt[string]  `json:"classification" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" doc:"A new classification."`
	OrganisationID op.Opt[op.UUID] `json:"organisationId" format:"uuid" doc:"A new organisation; null removes the organisation."`
}

// UpdateInitiative changes an initiative.
var UpdateInitiative = op.Declare[UpdateInitiativeIn, Initiative](Contract, op.Spec{
	Name: "update-initiative", Method: "PATCH", Path: "/api/initiatives/{initiativeId}", Permission: PermInitiativeUpdate, Effect: op.Write,
	Summary:     "Change an initiative.",
	Description: "Changes only the fields that are given. Changing the classification requires clearance for both the old and the new one.",
})

// DeleteInitiativeIn is the input of DeleteInitiative.
type DeleteInitiativeIn struct {
	InitiativeID op.UUID `path:"initiativeId" format:"uuid" doc:"The initiative."`
}

// DeleteInitiative deletes an initiative, but not its projects.
var DeleteInitiative = op.Declare[DeleteInitiativeIn, op.None](Contract, op.Spec{
	Name: "delete-initiative", Method: "DELETE", Path: "/api/initiatives/{initiativeId}", Permission: PermInitiativeDelete, Effect: op.Destroy, Status: 204,
	Summary:     "Delete an initiative permanently.",
	Description: "Keeps its projects, removes it from its projects and from the epics tagged with it, and ends the delegations scoped to it.",
})
