// Package docs embeds the documentation, so that a server can show the pages that belong to
// its version.
package docs

import "embed"

// FS contains the pages of this folder.
//
//go:embed *.md
var FS embed.FS
