package cli

import (
	"parapet/internal/cli/markdown"
	"parapet/internal/contract/wiki"
)

// pagePathHelp is the last paragraph of the help of commands that take the path of a page.
const pagePathHelp = `A path consists of segments that are separated by slashes, such as specs/reader-api.
Upper and lower case are different.`

func wikiForms() map[string]form {
	return map[string]form{
		"put-page": {via: "wiki put"},
		"list-pages": {
			paths: []string{"wiki list"},
			example: `  pt wiki list
  pt wiki list --prefix specs --all
  pt wiki list --prefix specs --depth 1
  pt wiki list --deleted`,
		},
		"get-page": {
			paths: []string{"wiki get"}, flags: "format=-",
			long: `Show a page, or an old version of it.

` + pagePathHelp,
			example: `  pt wiki get specs/reader-api
  pt wiki get specs/reader-api --version 3
  pt wiki get specs/reader-api --json --jq .data.markdown`,
		},
		"list-page-versions": {
			paths: []string{"wiki history"}, short: "List the versions of a page",
			example: `  pt wiki history specs/reader-api
  pt wiki history specs/reader-api --all --json --jq '.data[].version'`,
		},
		"search-pages": {
			paths: []string{"wiki search"}, args: "search=words", short: "Search pages by words, best match first",
			example: `  pt wiki search "reader cache"
  pt wiki search retry --prefix specs --json --jq '.data[].path'`,
		},
		"diff-page": {
			paths: []string{"wiki diff"}, short: "Compare two versions of a page",
			example: `  pt wiki diff specs/reader-api
  pt wiki diff specs/reader-api --from 2 --to 5`,
			page: showing(func(d *markdown.Doc, out *wiki.PageDiff) {
				if out.Diff == "" {
					d.Line("The texts are equal.")
					return
				}
				d.Quote(out.Diff)
			}),
		},
		"delete-page": {
			paths: []string{"wiki delete"}, question: "Delete the page %s?",
			long: `Delete a page. It keeps its versions, and pt wiki restore restores it. The command asks
for confirmation on a terminal; without a terminal it requires --yes.`,
			example: `  pt wiki delete specs/reader-api
  pt wiki delete specs/reader-api --if-version 3 --yes`,
		},
		"restore-page": {
			paths:   []string{"wiki restore"},
			example: `  pt wiki restore specs/reader-api`,
		},
	}
}
