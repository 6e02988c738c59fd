// Package manual generates manual pages in man(7) format from cobra commands.
//
// The output depends only on the commands and is reproducible. All text is escaped, so
// that troff never interprets it as a request.
package manual

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Section is the manual section of the pages.
const Section = "1"

// Name returns the name of a command's page, such as pt-auth-login.
func Name(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// Pages returns a command and all its visible subcommands and help topics, recursively.
// Each command comes before its subcommands.
func Pages(cmd *cobra.Command) []*cobra.Command {
	pages := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		if !c.Hidden && (c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand()) {
			pages = append(pages, Pages(c)...)
		}
	}
	return pages
}

// Write writes the page of a command. version is the version of pt in the footer.
func Write(w io.Writer, cmd *cobra.Command, version string) error {
	p := &page{}
	p.request(".TH", strings.ToUpper(Name(cmd)), Section, "", "pt "+version, "pt manual")
	// Disable hyphenation and justification, so that flags are not broken across lines.
	p.raw(".nh\n.ad l\n")
	p.heading("NAME")
	p.text(Name(cmd) + " - " + cmd.Short)
	if !cmd.IsAdditionalHelpTopicCommand() {
		p.heading("SYNOPSIS")
		p.bold(cmd.UseLine())
	}
	p.heading("DESCRIPTION")
	p.block(firstNonEmpty(cmd.Long, cmd.Short+"."))
	p.commands(cmd)
	p.flags("OPTIONS", cmd.NonInheritedFlags())
	p.flags("GLOBAL OPTIONS", cmd.InheritedFlags())
	if cmd.Example != "" {
		p.heading("EXAMPLES")
		p.literal(cmd.Example)
	}
	p.heading("SEE ALSO")
	p.text(strings.Join(related(cmd), ", "))
	_, err := io.WriteString(w, p.b.String())
	return err
}

func firstNonEmpty(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// related returns the pages of the parent command and of the subcommands.
func related(cmd *cobra.Command) []string {
	var names []string
	if cmd.HasParent() {
		names = append(names, Name(cmd.Parent())+"("+Section+")")
	}
	for _, c := range Pages(cmd)[1:] {
		if c.Parent() == cmd {
			names = append(names, Name(c)+"("+Section+")")
		}
	}
	return names
}

// page builds a page.
type page struct{ b strings.Builder }

func (p *page) raw(s string) { p.b.WriteString(s) }

// request writes a troff request with quoted arguments.
func (p *page) request(name string, args ...string) {
	p.raw(name)
	for _, a := range args {
		p.raw(` "` + strings.ReplaceAll(escape(a), `"`, `\(dq`) + `"`)
	}
	p.raw("\n")
}

func (p *page) heading(title string) { p.raw(".SH " + title + "\n") }

// text writes s as one paragraph.
func (p *page) text(s string) { p.raw(line(strings.Join(strings.Fields(s), " ")) + "\n") }

func (p *page) bold(s string) { p.raw(`\fB` + escape(s) + `\fR` + "\n") }

// block writes text with several paragraphs. Paragraphs with indented lines are written
// literally.
func (p *page) block(s string) {
	for i, paragraph := range strings.Split(strings.Trim(s, "\n"), "\n\n") {
		if i > 0 {
			p.raw(".PP\n")
		}
		if strings.HasPrefix(paragraph, "  ") || strings.Contains(paragraph, "\n  ") {
			p.literal(paragraph)
			continue
		}
		p.text(paragraph)
	}
}

// literal writes lines without filling or joining them.
func (p *page) literal(s string) {
	p.raw(".nf\n")
	for l := range strings.SplitSeq(strings.Trim(s, "\n"), "\n") {
		p.raw(line(l) + "\n")
	}
	p.raw(".fi\n")
}

// commands lists the subcommands with their short help.
func (p *page) commands(cmd *cobra.Command) {
	hasHeading := false
	for _, c := range Pages(cmd)[1:] {
		if c.Parent() != cmd {
			continue
		}
		if !hasHeading {
			p.heading("COMMANDS")
			hasHeading = true
		}
		p.raw(".TP\n")
		p.bold(c.Name())
		p.text(c.Short)
	}
}

// flags lists the visible flags with their help.
func (p *page) flags(title string, set *pflag.FlagSet) {
	hasHeading := false
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		if !hasHeading {
			p.heading(title)
			hasHeading = true
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		value, usage := pflag.UnquoteUsage(f)
		p.raw(".TP\n")
		if value != "" {
			p.raw(fmt.Sprintf(`\fB%s\fR \fI%s\fR`, escape(name), escape(value)) + "\n")
		} else {
			p.bold(name)
		}
		p.text(usage)
	})
}

// escape escapes the special characters of troff.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\(rs`, "-", `\-`, "…", `\&...`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(s)
}

// line escapes a line of text. Troff interprets a line that starts with a dot or an
// apostrophe as a request, so such a line gets a zero-width prefix.
func line(s string) string {
	s = escape(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "\\(aq") {
		return `\&` + s
	}
	return s
}
