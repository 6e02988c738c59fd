package cli

// The last paragraphs of the help of commands that take such a record.
const (
	nodeHelp  = `To name a node, use its ID, its path or its name.`
	listHelp  = `To name a shortlist, use its ID or its name; to name an entry, its ID or its title.`
	entryHelp = `To name an entry, use its ID or its title.`
)

func catalogForms() map[string]form {
	return map[string]form{
		"list-catalog-entries": {
			paths: []string{"catalog list"},
			example: `  pt catalog list --node software --status published
  pt catalog list --tag postgres --sort updated`,
		},
		"get-catalog-entry": {
			paths: []string{"catalog get"}, long: "Show a catalog entry with its body.\n\n" + entryHelp,
			example: `  pt catalog get "PostgreSQL cluster"`,
		},
		"create-catalog-entry": {
			paths: []string{"catalog create"}, flags: "tags=tag",
			example: `  pt catalog create --title "PostgreSQL cluster" --node software.databases --tag postgres --tag managed
  pt catalog create --title "Audit log" --node services --body - < audit.md`,
		},
		"update-catalog-entry": {
			paths: []string{"catalog update"}, flags: "tags=tag", long: updateHelp + "\n\n" + entryHelp,
			example: `  pt catalog update "Audit log" --summary "All security-relevant actions"
  pt catalog update "Audit log" --owner lin@acme.example`,
		},
		"publish-catalog-entry": {
			paths: []string{"catalog publish"}, long: "Publish a draft. Then all who may read entries of its classification see it.\n\n" + entryHelp,
			example: `  pt catalog publish "Audit log"`,
		},
		"archive-catalog-entry": {
			paths: []string{"catalog archive"}, long: "Archive a published entry. It stays readable and cannot be published again.\n\n" + entryHelp,
			example: `  pt catalog archive "Audit log"`,
		},
		"delete-catalog-entry": {
			paths: []string{"catalog delete"}, long: "Delete a catalog entry permanently.\n\n" + entryHelp,
			example: `  pt catalog delete "Audit log" --yes`,
		},
		"search-catalog": {
			paths: []string{"catalog search"}, args: "query=query",
			example: `  pt catalog search "postgres cluster"
  pt catalog search backup --node software --status published`,
		},
		"get-catalog-embedding": {
			paths: []string{"catalog embedding"}, long: "Show the embedding of a catalog entry.\n\n" + entryHelp,
			example: `  pt catalog embedding "Audit log" --json --jq '.data.vector | length'`,
		},
		"set-catalog-embedding": {
			paths: []string{"catalog set-embedding"}, long: "Store the embedding of a catalog entry, for searches by meaning.\n\n" + entryHelp,
			example: `  pt catalog set-embedding "Audit log" --vector 0.12,-0.5,0.3`,
		},
		"list-shortlists": {
			paths: []string{"shortlists list"},
			example: `  pt shortlists list --status ACTIVE
  pt shortlists list --entry "Audit log"`,
		},
		"get-shortlist": {
			paths: []string{"shortlists get"}, long: "Show a shortlist with those of its entries that you can read.\n\n" + listHelp,
			example: `  pt shortlists get "Approved databases"`,
		},
		"create-shortlist": {
			paths:   []string{"shortlists create"},
			example: `  pt shortlists create --name "Approved databases"`,
		},
		"update-shortlist": {
			paths: []string{"shortlists update"}, long: updateHelp + "\n\n" + listHelp,
			example: `  pt shortlists update "Approved databases" --classification INTERNAL`,
		},
		"archive-shortlist": {
			paths: []string{"shortlists archive"}, long: "Archive a shortlist. It stays readable and cannot be changed any more.\n\n" + listHelp,
			example: `  pt shortlists archive "Approved databases"`,
		},
		"delete-shortlist": {
			paths: []string{"shortlists delete"}, long: "Delete a shortlist permanently. Its entries stay in the catalog.\n\n" + listHelp,
			example: `  pt shortlists delete "Approved databases" --yes`,
		},
		"add-shortlist-entry": {
			paths: []string{"shortlists add"}, args: "entryId=entry", long: "Add a catalog entry to a shortlist, by default at the end.\n\n" + listHelp,
			example: `  pt shortlists add "Approved databases" "PostgreSQL cluster" --note "the default choice" --position 1`,
		},
		"update-shortlist-entry": {
			paths: []string{"shortlists set"}, long: "Change the note or the position of an entry in a shortlist.\n\n" + listHelp,
			example: `  pt shortlists set "Approved databases" "PostgreSQL cluster" --position 2
  pt shortlists set "Approved databases" "PostgreSQL cluster" --note ""`,
		},
		"remove-shortlist-entry": {
			paths: []string{"shortlists remove"}, long: "Remove a catalog entry from a shortlist. The entry stays in the catalog.\n\n" + listHelp,
			example: `  pt shortlists remove "Approved databases" "PostgreSQL cluster"`,
		},
		"list-taxonomy": {
			paths: []string{"taxonomy list"},
			example: `  pt taxonomy list
  pt taxonomy list --node software --depth 2`,
		},
		"get-taxonomy-node": {
			paths: []string{"taxonomy get"}, long: "Show a node of the taxonomy.\n\n" + nodeHelp,
			example: `  pt taxonomy get software.databases`,
		},
		"create-taxonomy-node": {
			paths: []string{"taxonomy create"},
			example: `  pt taxonomy create --name Software
  pt taxonomy create --name Databases --parent software --position 1`,
		},
		"update-taxonomy-node": {
			paths: []string{"taxonomy rename"}, long: "Rename a node of the taxonomy or change its description. The path stays the same.\n\n" + nodeHelp,
			example: `  pt taxonomy rename software.databases --name "Database systems"`,
		},
		"move-taxonomy-node": {
			paths: []string{"taxonomy move"},
			long: `Move a node of the taxonomy with everything below it. --parent "" moves it to the
top. Without --parent, only its position among the siblings changes.

` + nodeHelp,
			example: `  pt taxonomy move software.databases --parent infrastructure
  pt taxonomy move software --position 1`,
		},
		"delete-taxonomy-node": {
			paths: []string{"taxonomy delete"}, flags: "targetNodeId=move-to",
			long: `Delete a node of the taxonomy permanently. If it has entries or child nodes, --move-to
names the node that receives them.

` + nodeHelp,
			example: `  pt taxonomy delete software.databases --yes
  pt taxonomy delete software.databases --move-to infrastructure --yes`,
		},
	}
}
