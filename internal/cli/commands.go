package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
)

// The IDs of the command groups in pt --help.
const (
	groupTasks     = "tasks"
	groupDecisions = "decisions"
	groupIssues    = "issues"
	groupProjects  = "projects"
	groupPlanning  = "planning"
	groupRecords   = "records"
	groupAccess    = "access"
	groupOther     = "other"
)

// commandFamily is a family of commands. names lists the commands that build returns; it is
// nil for commands that must be built together with all others.
type commandFamily struct {
	group string
	names []string
	build func(*invocation) []*cobra.Command
}

// singleCommand returns a family with a single command.
func singleCommand(group, name string, build func(*invocation) *cobra.Command) commandFamily {
	return commandFamily{group, []string{name}, func(inv *invocation) []*cobra.Command { return []*cobra.Command{build(inv)} }}
}

// commandFamilies returns all families. A test compares names with the built commands.
func commandFamilies() []commandFamily {
	return []commandFamily{
		{groupTasks, []string{"list-tasks", "get-task", "create-task", "update-task", "list-epic-children", "delete-task"}, newTaskCmds},
		{groupTasks, []string{"claim-next-ready", "keep-claim", "release-claim"}, newClaimCmds},
		{groupTasks, []string{"list-dependencies", "add-dependency", "remove-dependency"}, newDependencyCmds},
		{groupTasks, []string{"list-custom-fields", "create-custom-field", "update-custom-field", "delete-custom-field", "set-custom-field-values"}, newCustomFieldCmds},
		{groupDecisions, []string{"mark-awaiting-decision", "answer-decision", "cancel-decision", "list-decision-requests", "wait-decision"}, newDecisionCmds},
		{groupIssues, []string{
			"list-issues", "get-issue", "create-issue", "update-issue", "assign-issue", "escalate-issue", "transition-issue", "resolve-issue", "promote-issue", "delete-issue",
		}, newIssueCmds},
		{groupProjects, []string{"list-projects", "find-project", "create-project", "update-project", "delete-project"}, newProjectCmds},
		singleCommand(groupProjects, "workspace", newWorkspaceCmd),
		singleCommand(groupProjects, "get-project-overview", newOverviewCmd),
		{groupProjects, []string{"bind-repo", "unbind-repo"}, newBindCmds},
		singleCommand(groupProjects, "import", newImportCmd),
		singleCommand(groupProjects, "export", newExportCmd),
		{groupPlanning, []string{"initiative", "list-initiatives", "create-initiative", "update-initiative", "delete-initiative"}, newInitiativeCmds},
		{groupPlanning, []string{"list-stages", "create-stage", "update-stage", "start-stage", "complete-stage", "delete-stage"}, newStageCmds},
		{groupPlanning, []string{"create-gate", "update-gate", "review-gate", "delete-gate"}, newGateCmds},
		{groupPlanning, []string{
			"list-deliverables", "get-deliverable", "create-deliverable", "update-deliverable", "submit-deliverable", "start-deliverable-review",
			"accept-deliverable", "reject-deliverable", "revise-deliverable", "delete-deliverable",
		}, newDeliverableCmds},
		{groupPlanning, []string{"list-criteria", "create-criterion", "update-criterion", "delete-criterion"}, newCriterionCmds},
		{groupRecords, []string{"list-comments", "create-comment", "update-comment", "delete-comment"}, newCommentCmds},
		{groupRecords, []string{"list-time-entries", "create-time-entry", "update-time-entry", "delete-time-entry"}, newTimeEntryCmds},
		{groupRecords, []string{"list-runs", "get-run"}, newRunCmds},
		{groupAccess, []string{"list-delegations", "get-delegation", "create-delegation", "revoke-delegation"}, newDelegationCmds},
		singleCommand(groupAccess, "auth", newAuthCmd),
		singleCommand(groupAccess, "list-orgs", newListOrgsCmd),
		singleCommand(groupAccess, "list-people", newListPeopleCmd),
		singleCommand(groupAccess, "permissions", newPermissionsCmd),
		singleCommand(groupAccess, "list-audit-entries", newListAuditEntriesCmd),
		{groupAccess, []string{"list-decisions", "get-decision"}, newDecisionLogCmds},
		{groupAccess, []string{"issue-key", "issue-service-key", "list-keys", "revoke-key"}, func(inv *invocation) []*cobra.Command {
			return []*cobra.Command{newIssueKeyCmd(inv), newIssueServiceKeyCmd(inv), newListKeysCmd(inv), newRevokeKeyCmd(inv)}
		}},
		singleCommand(groupOther, "prime", newPrimeCmd),
		singleCommand(groupOther, "api", newAPICmd),
		singleCommand(groupOther, "mcp", newMCPCmd),
		singleCommand(groupOther, "version", newVersionCmd),
		{group: groupOther, build: func(inv *invocation) []*cobra.Command {
			return []*cobra.Command{newCompletionCmd(), newManCmd(inv)}
		}},
	}
}

// addCommands adds the family of the command called word to root, or all families
// if no command has that name.
func addCommands(root *cobra.Command, inv *invocation, word string) {
	root.AddGroup(
		&cobra.Group{ID: groupTasks, Title: "Tasks:"},
		&cobra.Group{ID: groupDecisions, Title: "Decisions:"},
		&cobra.Group{ID: groupIssues, Title: "Issues:"},
		&cobra.Group{ID: groupProjects, Title: "Projects:"},
		&cobra.Group{ID: groupPlanning, Title: "Initiatives, stages, gates and deliverables:"},
		&cobra.Group{ID: groupRecords, Title: "Comments, time and runs:"},
		&cobra.Group{ID: groupAccess, Title: "Access:"},
		&cobra.Group{ID: groupOther, Title: "Other:"},
	)
	root.SetHelpCommand(newHelpCmd())
	root.SetHelpCommandGroupID(groupOther)
	all := commandFamilies()
	if i := slices.IndexFunc(all, func(n commandFamily) bool { return slices.Contains(n.names, word) }); i >= 0 {
		all = all[i : i+1]
	} else {
		root.AddCommand(helpTopics()...)
	}
	for _, n := range all {
		for _, c := range n.build(inv) {
			c.GroupID = n.group
			addUsageToArgumentErrors(c)
			root.AddCommand(c)
		}
	}
}

// addUsageToArgumentErrors adds the usage line to the errors for a wrong number of
// arguments, for cmd and its subcommands.
func addUsageToArgumentErrors(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		addUsageToArgumentErrors(c)
	}
	validate := cmd.Args
	if validate == nil || cmd.HasSubCommands() {
		return
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if validate(cmd, args) == nil {
			return nil
		}
		return fmt.Errorf("wrong arguments (got %d); usage: %s", len(args), cmd.UseLine())
	}
}
