package cli

import (
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"parapet/internal/cli/markdown"
	"parapet/internal/contract/catalog"
	"parapet/internal/contract/identity"
	"parapet/internal/contract/tracker"
)

// layouts are the layouts of the types whose default layout is not good enough.
var layouts = sync.OnceValue(func() map[reflect.Type]layout {
	return map[reflect.Type]layout{
		reflect.TypeFor[tracker.TaskSummary](): {
			columns: "key title status issueType priority dueDate assignee decisionRequestId=Decision_request?", drop: "decisionRequestId issueType dueDate priority",
		},
		reflect.TypeFor[tracker.Task](): {
			title: "{key} {title}", omit: "statusCategory epic decisionRequestId issue", labels: "claim=Claimed",
			values: map[string]valueFunc{
				"progress":     value(func(t *tracker.Task) string { return formatPercent(t.Progress) }),
				"epicId":       value(epicText),
				"blockedBy":    value(func(t *tracker.Task) string { return countOrEmpty(t.BlockedBy, "tasks") }),
				"blocks":       value(func(t *tracker.Task) string { return countOrEmpty(t.Blocks, "tasks") }),
				"claim":        timed(claimText),
				"customFields": value(func(*tracker.Task) string { return "" }),
			},
		},
		reflect.TypeFor[tracker.EpicChild](): {columns: "key title status issueType priority dueDate assignee isCrossProject? id", drop: "issueType dueDate priority"},
		reflect.TypeFor[tracker.Dependency](): {
			columns: "direction task.key task.title task.status task.isCrossProject? task.id",
		},
		reflect.TypeFor[tracker.Lease](): {title: "Lease"},
		reflect.TypeFor[inboxDecision](): {columns: "task question options? by"},
		reflect.TypeFor[tracker.DecisionRequest](): {
			columns: "status question answer? createdAt=Raised raisedBy=By id",
		},
		reflect.TypeFor[tracker.IssueSummary](): {
			columns: "key title severity status resolution? assignee resolutionDueAt=Resolve_by",
			title:   "{key} {title}",
			labels:  "firstResponseDueAt=First_response_by firstRespondedAt=First_response resolutionDueAt=Resolve_by promotedTaskId=Promoted_to",
			omit:    "firstResponseOverdue resolutionOverdue promotedTaskKey",
			values: map[string]valueFunc{
				"firstResponseDueAt": timed(func(d *markdown.Doc, i *tracker.IssueSummary) string {
					return formatDeadline(d, i.FirstResponseDueAt, i.FirstResponseOverdue)
				}),
				"resolutionDueAt": timed(func(d *markdown.Doc, i *tracker.IssueSummary) string {
					return formatDeadline(d, i.ResolutionDueAt, i.ResolutionOverdue)
				}),
			},
		},
		reflect.TypeFor[tracker.ProjectSummary](): {columns: "prefix name status startDate endDate id", title: "{prefix} {name}"},
		reflect.TypeFor[tracker.Project](): {
			columns: "prefix name status startDate endDate id", title: "{prefix} {name}",
			values: map[string]valueFunc{
				"storyPointScale": value(func(p *tracker.Project) string { return formatScale(p.StoryPointScale) }),
			},
			labels: "storyPointScale=Story-point_scale repoPaths=Repository customStatuses=Statuses", lines: "repoPaths",
		},
		reflect.TypeFor[tracker.RepoPath]():    {title: "{path} (binding {id})"},
		reflect.TypeFor[tracker.StatusCount](): {columns: "status category count=Tasks"},
		reflect.TypeFor[tracker.Status]():      {columns: "name=Status category"},
		reflect.TypeFor[tracker.Initiative](): {
			columns: "name status progress startDate endDate id",
			values:  map[string]valueFunc{"progress": value(func(i *tracker.Initiative) string { return formatPercent(i.Progress) })},
		},
		reflect.TypeFor[tracker.InitiativeDetail](): {
			omit:   "moreProjects projects",
			values: map[string]valueFunc{"progress": value(func(i *tracker.Initiative) string { return formatPercent(i.Progress) })},
		},
		reflect.TypeFor[catalog.CatalogEntrySummary](): {columns: "title status node tags? summary? updatedAt id", drop: "summary tags updatedAt"},
		reflect.TypeFor[catalog.Shortlist]():           {columns: "name status classification updatedAt id"},
		reflect.TypeFor[catalog.ShortlistEntry]():      {columns: "position title status note? entryId=ID", title: "{position}. {title}", omit: "position"},
		reflect.TypeFor[catalog.TaxonomyNode]():        {columns: "path name description? id", omit: "label depth"},
		reflect.TypeFor[identity.Webhook]():            {columns: "url enabled eventTypes pausedUntil? lastSuccessAt? id", title: "{url}"},
		reflect.TypeFor[identity.WebhookDelivery]():    {columns: "createdAt=Queued eventType status attempts outcome? responseStatus=HTTP? nextAttemptAt=Next? id", title: "Delivery of {eventType}"},
		reflect.TypeFor[tracker.Stage](): {
			columns: "position name=Stage status startDate? endDate? gate.name=Gate? gate.status=Gate_status? votes? id=Stage_ID gate.id=Gate_ID?",
			values: map[string]valueFunc{"votes": value(func(s *tracker.Stage) string {
				if s.Gate == nil {
					return ""
				}
				return formatVotes(s.Gate)
			})},
		},
		reflect.TypeFor[tracker.Gate](): {
			title: "Gate: {name}", labels: "stageId=After_stage criteria=Criterion", omit: "projectId", lines: "criteria",
			values: map[string]valueFunc{"reviews": value(func(*tracker.Gate) string { return "" })},
		},
		reflect.TypeFor[tracker.GateReview](): {
			columns: "reviewer vote reason met? unmet=Not_met? reviewedAt=When",
			values: map[string]valueFunc{
				"met":   value(func(r *tracker.GateReview) string { return criteriaByResult(r, true) }),
				"unmet": value(func(r *tracker.GateReview) string { return criteriaByResult(r, false) }),
			},
		},
		reflect.TypeFor[tracker.DeliverableSummary](): {columns: "title status dueDate owner taskId? id"},
		reflect.TypeFor[tracker.Criterion]():          {columns: "met text=Criterion failed? id", title: "Criterion", labels: "metAt=Recorded", omit: "projectId createdAt updatedAt"},
		reflect.TypeFor[tracker.CustomField]():        {columns: "name type options id"},
		reflect.TypeFor[tracker.Comment](): {
			columns: "createdAt=Written authorId=By body edited? id", title: "Comment", labels: "authorId=By createdAt=Written updatedAt=Edited", omit: "projectId edited",
			values: map[string]valueFunc{"updatedAt": timed(func(d *markdown.Doc, c *tracker.Comment) string {
				if !c.Edited {
					return ""
				}
				return d.Time(c.UpdatedAt)
			})},
		},
		reflect.TypeFor[tracker.TimeEntry](): {
			columns: "date=Day minutes userId record note billable id", title: "{duration} on {date}", labels: "createdAt=Recorded", omit: "minutes updatedAt",
			values: map[string]valueFunc{
				"duration": value(func(e *tracker.TimeEntry) string { return formatMinutes(int64(e.Minutes)) }),
				"record": value(func(e *tracker.TimeEntry) string {
					return firstNonEmpty(recordName(e.Task, e.TaskID), recordName(e.Issue, e.IssueID), recordName(e.Project, e.ProjectID))
				}),
			},
		},
		reflect.TypeFor[tracker.TimeEntryPage](): {labels: "totalMinutes=Total_of_all_pages", values: map[string]valueFunc{
			"totalMinutes": value(func(p *tracker.TimeEntryPage) string {
				if p.TotalMinutes == nil || len(p.Items) == 0 {
					return ""
				}
				return formatMinutes(*p.TotalMinutes)
			}),
		}},
		reflect.TypeFor[tracker.AgentRunSummary](): {
			columns: "taskKey=Task status agent createdAt score? summary id", title: "{taskKey} run: {status}", omit: "scoredAt",
			values: map[string]valueFunc{"summary": value(func(r *tracker.AgentRunSummary) string { return firstNonEmpty(r.Summary, r.Error, r.Note) })},
		},
		reflect.TypeFor[tracker.AgentRun](): {title: "{taskKey} run: {status}", omit: "scoredAt"},
		reflect.TypeFor[tracker.Delegation](): {
			columns: "state delegator delegate scope permissions until id", title: "Delegation: {state}", omit: "projectId initiativeId", addresses: true,
			values: map[string]valueFunc{"scope": value(delegationScope)},
		},
		reflect.TypeFor[identity.Colleague](): {
			columns: "displayName email principalKind id",
			values:  map[string]valueFunc{"email": value(func(p *identity.Colleague) string { return formatAddress(p.Email, p.EmailVerified) })},
		},
		reflect.TypeFor[identity.User](): {
			columns: "displayName email status roles principalKind clearance? organisationId? id", omit: "homeTenantId emailVerified",
			values: map[string]valueFunc{"email": value(func(u *identity.User) string { return formatAddress(u.Email, u.EmailVerified) })},
		},
		reflect.TypeFor[identity.AssignedRole]():       {columns: "role scope scopeId=Record? createdAt=Assigned", title: "{role}"},
		reflect.TypeFor[identity.ReceivedDelegation](): {columns: "delegator=From_whom scope scopeId=Record? permissions from=Starts until=Ends", addresses: true},
		reflect.TypeFor[grant]():                       {columns: "userId role scope scopeId=Record? createdAt=Assigned", addresses: true},
		reflect.TypeFor[identity.Role]():               {columns: "name kind default description id", omit: "permissions"},
		reflect.TypeFor[identity.RoleAssignment](): {
			columns: "userId role scope scopeId=Record createdAt=Assigned id", title: "{role}", labels: "scopeId=Record createdAt=Assigned", omit: "roleId", addresses: true,
		},
		reflect.TypeFor[identity.Permission]():   {columns: "name module effect description platform=Platform?"},
		reflect.TypeFor[identity.Organisation](): {columns: "name type verificationStatus=Verification id"},
		reflect.TypeFor[identity.Tenant]():       {columns: "slug name type enabled currency timeZone id", title: "{name} ({slug})"},
		reflect.TypeFor[identity.Membership]():   {columns: "userId organisationId? status clearance? createdAt=Joined", title: "Membership: {userId}", addresses: true},
		reflect.TypeFor[identity.Key](): {
			columns: "id label kind expiry lastUsedAt=Last_used revokedAt", omit: "jti tenantId createdAt", addresses: true, labels: "revokeReason=Reason",
		},
		reflect.TypeFor[identity.IssuedKey](): {omit: "jti createdAt", addresses: true},
		reflect.TypeFor[identity.EffectivePermission](): {
			columns: "name=Permission scope description", values: map[string]valueFunc{"scope": value(formatScopes)},
		},
		reflect.TypeFor[identity.AuditEntry](): {
			columns: "createdAt=When action record actorId credentialKind=Credential credentialId", addresses: true,
			values: map[string]valueFunc{"record": value(func(e *identity.AuditEntry) string { return typedRecord(e.ResourceType, e.Resource, e.ResourceID) })},
		},
		reflect.TypeFor[identity.DecisionEntry](): {
			columns: "decidedAt=When outcome=Answer rule actorId=Actor credentialKind=Credential credentialId id",
			title:   "{rule}: {outcome}", labels: "decidedAt=When actorId=Actor credentialKind=Credential requestId=Request revision=Policies subjectStatus=Subject_status",
			omit: "allow reasons permission",
			values: map[string]valueFunc{
				"outcome": value(decisionAnswer),
				"rule":    value(func(e *identity.DecisionEntry) string { return strings.TrimSpace(e.Rule + " " + e.Permission) }),
			},
		},
		reflect.TypeFor[identity.EventRecord](): {
			columns: "occurredAt=When type record aggregateId=Record_ID actorId id", title: "{type}",
			values: map[string]valueFunc{"record": value(func(e *identity.EventRecord) string {
				return typedRecord(e.AggregateType, e.Aggregate, "") // the next column has the id
			})},
		},
		reflect.TypeFor[identity.Notification]():         {columns: "createdAt=When type subject audience readAt=Read id", title: "{type}"},
		reflect.TypeFor[identity.PasswordResetStarted](): {title: "Link to set a new password", labels: "expiresAt=Sent_until"},
	}
})

func formatPercent(n int) string { return strconv.Itoa(n) + " %" }

// countOrEmpty formats a number with a noun in the plural; it is empty for 0.
func countOrEmpty(n int, plural string) string {
	if n == 0 {
		return ""
	}
	return countOf(n, plural)
}

func epicText(t *tracker.Task) string {
	if t.Epic == nil {
		return recordName(t.EpicTask, t.EpicID)
	}
	text := t.Epic.Key + " " + t.Epic.Title
	if t.Epic.IsCrossProject {
		text += " (in another project)"
	}
	return text
}

func claimText(d *markdown.Doc, t *tracker.Task) string {
	if t.Claim == nil {
		return ""
	}
	return "by " + personName(t.Claim.HolderUser, t.Claim.Holder) + " until " + d.Time(t.Claim.ExpiresAt)
}

// formatDeadline formats a deadline of the SLA and marks a missed one.
func formatDeadline(d *markdown.Doc, at time.Time, overdue bool) string {
	if overdue {
		return d.Time(at) + " (missed)"
	}
	return d.Time(at)
}

func delegationScope(g *tracker.Delegation) string {
	return strings.TrimSpace(g.Scope + " " + firstNonEmpty(recordName(g.Project, g.ProjectID), recordName(g.Initiative, g.InitiativeID)))
}

func decisionAnswer(e *identity.DecisionEntry) string {
	if e.Allow {
		return "allow"
	}
	return strings.TrimSpace("deny " + strings.Join(e.Reasons, ", "))
}

// formatScale formats a story-point scale. A project without a scale has the scale
// UNKNOWN, not a default one.
func formatScale(points []float64) string {
	if len(points) == 0 {
		return "UNKNOWN"
	}
	var texts []string
	for _, p := range points {
		texts = append(texts, formatNumber(p))
	}
	return strings.Join(texts, ", ")
}

// formatMinutes formats a number of minutes as hours and minutes.
func formatMinutes(n int64) string {
	if n < 60 {
		return strconv.FormatInt(n, 10) + " min"
	}
	return strconv.FormatInt(n/60, 10) + " h " + strconv.FormatInt(n%60, 10) + " min"
}

// formatVotes formats the number of votes of each kind.
func formatVotes(g *tracker.Gate) string {
	var parts []string
	for _, vote := range []string{tracker.VotePass, tracker.VoteWaive, tracker.VoteHold, tracker.VoteFail} {
		n := 0
		for _, r := range g.Reviews {
			if r.Vote == vote {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, strconv.Itoa(n)+" "+vote)
		}
	}
	return strings.Join(parts, ", ")
}

func criteriaByResult(r *tracker.GateReview, met bool) string {
	var texts []string
	for _, f := range r.Criteria {
		if f.Met == met {
			texts = append(texts, f.Criterion)
		}
	}
	return strings.Join(texts, "; ")
}

// formatAddress marks an address that does not identify its user, because users can set any
// address that is not in use.
func formatAddress(email string, verified bool) string {
	if email == "" || verified {
		return email
	}
	return email + " (unverified)"
}
