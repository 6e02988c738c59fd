package cli

// nodeHelp is the last paragraph of the help of commands that take a taxonomy node.
const nodeHelp = `To name a node, use its ID, its path or its name.`

func catalogForms() map[string]form {
	return map[string]form{
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
