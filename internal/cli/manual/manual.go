// Package manual owns the manual pages of a command line, in the language of
// man(7).
//
// It promises that a page is made from what the commands say of themselves and
// from nothing else, that it is the same bytes for the same commands, and that
// no text in it can be taken for a request of troff.
package manual

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Section is the section of the manual that the pages belong to.
const Section = "1"

// Name gives the name of a command's page: pt-auth-login.
func Name(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// Pages gives a command and all below it that have a page, each before those
// below it.
func Pages(cmd *cobra.Command) []*cobra.Command {
	pages := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		if !c.Hidden && (c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand()) {
			pages = append(pages, Pages(c)...)
		}
	}
	return pages
}

// Write writes the page of a command. version stands in its foot.
func Write(w io.Writer, cmd *cobra.Command, version string) error {
	p := &page{}
	p.request(".TH", strings.ToUpper(Name(cmd)), Section, "", "pt "+version, "pt manual")
	// No hyphenation, text to the left: flags are not to be broken.
	p.raw(".nh\n.ad l\n")
	p.heading("NAME")
	p.text(Name(cmd) + " - " + cmd.Short)
	if !cmd.IsAdditionalHelpTopicCommand() {
		p.heading("SYNOPSIS")
		p.bold(cmd.UseLine())
	}
	p.heading("DESCRIPTION")
	p.block(first(cmd.Long, cmd.Short+"."))
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

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// related are the pages that belong to a command's: the one above, those below.
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

// page is a page as it is written.
type page struct{ b strings.Builder }

func (p *page) raw(s string) { p.b.WriteString(s) }

// request writes a request with its arguments, each quoted.
func (p *page) request(name string, args ...string) {
	p.raw(name)
	for _, a := range args {
		p.raw(` "` + strings.ReplaceAll(escape(a), `"`, `\(dq`) + `"`)
	}
	p.raw("\n")
}

func (p *page) heading(title string) { p.raw(".SH " + title + "\n") }

// text writes one paragraph.
func (p *page) text(s string) { p.raw(line(strings.Join(strings.Fields(s), " ")) + "\n") }

func (p *page) bold(s string) { p.raw(`\fB` + escape(s) + `\fR` + "\n") }

// block writes text of several paragraphs; lines that are indented stand as they
// are.
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

// literal writes lines as they are.
func (p *page) literal(s string) {
	p.raw(".nf\n")
	for l := range strings.SplitSeq(strings.Trim(s, "\n"), "\n") {
		p.raw(line(l) + "\n")
	}
	p.raw(".fi\n")
}

// commands lists the commands below one, with what each is for.
func (p *page) commands(cmd *cobra.Command) {
	begun := false
	for _, c := range Pages(cmd)[1:] {
		if c.Parent() != cmd {
			continue
		}
		if !begun {
			p.heading("COMMANDS")
			begun = true
		}
		p.raw(".TP\n")
		p.bold(c.Name())
		p.text(c.Short)
	}
}

// flags lists flags with their help.
func (p *page) flags(title string, set *pflag.FlagSet) {
	begun := false
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		if !begun {
			p.heading(title)
			begun = true
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

// escape makes text mean itself to troff.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\(rs`, "-", `\-`, "…", `\&...`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(s)
}

// line makes a line of text, which troff would take for a request if it began
// with a dot or a quote.
func line(s string) string {
	s = escape(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "\\(aq") {
		return `\&` + s
	}
	return s
}
