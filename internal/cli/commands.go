package cli

import (
	"slices"

	"github.com/spf13/cobra"
)

// The IDs of the command groups in pt --help.
const (
	groupTasks          = "tasks"
	groupDecisions      = "decisions"
	groupIssues         = "issues"
	groupProjects       = "projects"
	groupPlanning       = "planning"
	groupRecords        = "records"
	groupCatalog        = "catalog"
	groupWiki           = "wiki"
	groupAccess         = "access"
	groupAdministration = "administration"
	groupOther          = "other"
)

// specialCommand is a command that is not the command of one operation. Its name is its
// words, such as "grants list".
type specialCommand struct {
	group, name string
	build       func(*invocation) *cobra.Command
}

// specialCommands returns all special commands. A test compares name with the built command.
func specialCommands() []specialCommand {
	return []specialCommand{
		{groupTasks, "status", newStatusPageCmd},
		{groupTasks, "search", newSearchCmd},
		{groupTasks, "comment", newCommentCmd},
		{groupDecisions, "answer", newAnswerCmd},
		{groupDecisions, "wait-decision", newWaitDecisionCmd},
		{groupProjects, "find-project", newFindProjectCmd},
		{groupProjects, "bind-repo", newBindRepoCmd},
		{groupProjects, "unbind-repo", newUnbindRepoCmd},
		{groupProjects, "import", newImportCmd},
		{groupProjects, "export", newExportCmd},
		{groupWiki, "wiki put", newWikiPutCmd},
		{groupAccess, "auth", newAuthCmd},
		{groupAccess, "list-orgs", newListOrgsCmd},
		{groupAccess, "why", newWhyCmd("why")},
		{groupAccess, "explain-decision", newWhyCmd("explain-decision")},
		{groupAdministration, "grants list", newListGrantsCmd},
		{groupAdministration, "access of", newAccessCmd},
		{groupAdministration, "audit", newLogCmd("list-audit-entries", "audit")},
		{groupAdministration, "audit export", newAuditExportCmd},
		{groupAdministration, "decisions", newLogCmd("list-decisions", "decisions")},
		{groupOther, "prime", newPrimeCmd},
		{groupOther, "api", newAPICmd},
		{groupOther, "mcp", newMCPCmd},
		{groupOther, "version", newVersionCmd},
		{groupOther, "completion", newCompletionCmd},
		{groupOther, "man", newManCmd},
	}
}

// needsAllCommands are the commands that read the other commands.
var needsAllCommands = []string{"completion", "man", "help"}

// commandFamily is the help of a command that only has subcommands, such as pt users.
type commandFamily struct{ short, long string }

// commandFamilies returns the families, by name.
func commandFamilies() map[string]commandFamily {
	return map[string]commandFamily{
		"users":         {"Manage the users of the tenant", "Manage the people, service principals and agents of the tenant."},
		"memberships":   {"Manage the memberships of the tenant", "Manage who is a member of the tenant."},
		"roles":         {"Manage roles and their permissions", "Manage the roles of the tenant and the permissions that they grant."},
		"grants":        {"Manage who holds which role", "Manage role assignments: who holds which role, and where."},
		"access":        {"Show what a user may do, and why", "Show what a user may do, and which role or delegation grants it."},
		"orgs":          {"Manage the organisations of the tenant", "Manage the organisations that take part in the tenant."},
		"tenants":       {"Manage tenants", "Manage the tenants that the programme office administers."},
		"keys":          {"Manage API keys", "Issue, list and revoke API keys."},
		"audit":         {"Read the audit log and the events", "Read the audit log and the domain events of the tenant."},
		"decisions":     {"Read the log of policy decisions", "Read the log of policy decisions."},
		"catalog":       {"Manage the entries of the catalog", "Find, write, publish and archive the entries of the catalog."},
		"shortlists":    {"Manage shortlists of catalog entries", "Manage curated, ordered lists of catalog entries."},
		"taxonomy":      {"Manage the taxonomy of the catalog", "Manage the tree of nodes that classify the entries of the catalog."},
		"webhooks":      {"Manage webhooks, which send events to other systems", "Manage the addresses that receive the events of the tenant, and read the log of the deliveries."},
		"wiki":          {"Read and write wiki pages", "Read, publish and search wiki pages, and show their history."},
		"notifications": {"Read your notifications", "List your notifications and mark them as read."},
	}
}

// addCommands adds the commands that start with word to root, or all commands if there
// are none.
func addCommands(root *cobra.Command, inv *invocation, word string) {
	root.AddGroup(
		&cobra.Group{ID: groupTasks, Title: "Tasks:"},
		&cobra.Group{ID: groupDecisions, Title: "Decisions:"},
		&cobra.Group{ID: groupIssues, Title: "Issues:"},
		&cobra.Group{ID: groupProjects, Title: "Projects:"},
		&cobra.Group{ID: groupPlanning, Title: "Initiatives, stages, gates and deliverables:"},
		&cobra.Group{ID: groupRecords, Title: "Comments, time and runs:"},
		&cobra.Group{ID: groupCatalog, Title: "Catalog:"},
		&cobra.Group{ID: groupWiki, Title: "Wiki:"},
		&cobra.Group{ID: groupAccess, Title: "Access:"},
		&cobra.Group{ID: groupAdministration, Title: "Administration:"},
		&cobra.Group{ID: groupOther, Title: "Other:"},
	)
	root.SetHelpCommand(newHelpCmd())
	root.SetHelpCommandGroupID(groupOther)
	if word == "" || slices.Contains(needsAllCommands, word) || !addMatching(root, inv, word) {
		root.AddCommand(helpTopics()...)
		addMatching(root, inv, "")
	}
}

// addMatching adds the commands whose first word is word, or all commands if word is empty,
// and reports whether there are any.
func addMatching(root *cobra.Command, inv *invocation, word string) bool {
	matches := func(path string) bool { return word == "" || firstWord(path) == word }
	for _, c := range specialCommands() {
		if !matches(c.name) {
			continue
		}
		cmd := c.build(inv)
		addCommand(parentOf(root, c.name, c.group), cmd, c.group)
		if _, isFamily := commandFamilies()[word]; c.name == word && !isFamily && !cmd.HasSubCommands() {
			return true // no operation has this command
		}
	}
	for _, o := range operationForms() {
		for _, path := range o.paths {
			if matches(path) {
				addCommand(parentOf(root, path, o.group), newOperationCmd(inv, o.Operation, o.form, path), o.group)
			}
		}
	}
	return len(root.Commands()) > 0
}

// parentOf returns the command that has the command with the path as its subcommand: root,
// or a family.
func parentOf(root *cobra.Command, path, group string) *cobra.Command {
	if word := firstWord(path); word != path {
		return familyOf(root, word, group)
	}
	return root
}

// familyOf returns the subcommand of root with the name, and adds it if it is missing.
func familyOf(root *cobra.Command, name, group string) *cobra.Command {
	for _, c := range root.Commands() {
		if c.Name() == name {
			return c
		}
	}
	family := commandFamilies()[name]
	cmd := &cobra.Command{
		Use: name, Short: family.short, Long: family.long,
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.GroupID = group
	root.AddCommand(cmd)
	return cmd
}

// addCommand adds a command to root, or to a family. The first example of a family is that
// of its first command.
func addCommand(parent, cmd *cobra.Command, group string) {
	checkArguments(cmd)
	runAfter(cmd, requireFlags)
	if parent.HasParent() {
		parent.Example = firstNonEmpty(parent.Example, cmd.Example)
	} else {
		cmd.GroupID = group
	}
	parent.AddCommand(cmd)
}
