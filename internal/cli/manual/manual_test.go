package manual

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func example() *cobra.Command {
	root := &cobra.Command{Use: "pt", Short: "Work", Run: func(*cobra.Command, []string) {}}
	root.PersistentFlags().Bool("json", false, "print JSON")
	list := &cobra.Command{
		Use: "list-tasks <project>", Short: "List tasks", Long: ".so /etc/passwd\n'quoted' \\fBbold\n\n  kept\n    as it is", Example: "  pt list-tasks A\n.TH x",
		Run: func(*cobra.Command, []string) {},
	}
	list.Flags().String("status", "", "only this `name`")
	list.Flags().String("secret", "", "not shown")
	if err := list.Flags().MarkHidden("secret"); err != nil {
		panic(err)
	}
	topic := &cobra.Command{Use: "environment", Short: "Variables", Long: "PT_ORG"}
	hidden := &cobra.Command{Use: "hidden", Hidden: true, Run: func(*cobra.Command, []string) {}}
	root.AddCommand(list, topic, hidden)
	return root
}

func TestPages_OmitsHiddenCommands(t *testing.T) {
	t.Parallel()
	var names []string
	for _, c := range Pages(example()) {
		names = append(names, Name(c))
	}
	if got := strings.Join(names, " "); got != "pt pt-environment pt-list-tasks" {
		t.Fatalf("pages of the manual: got %s, want pt, pt-environment and pt-list-tasks", got)
	}
}

func TestWrite_EscapesTroffRequests(t *testing.T) {
	t.Parallel()
	root := example()
	list, _, err := root.Find([]string{"list-tasks"})
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := Write(&page, list, "1.2.3"); err != nil {
		t.Fatal(err)
	}
	const want = `.TH "PT\-LIST\-TASKS" "1" "" "pt 1.2.3" "pt manual"
.nh
.ad l
.SH NAME
pt\-list\-tasks \- List tasks
.SH SYNOPSIS
\fBpt list\-tasks <project> [flags]\fR
.SH DESCRIPTION
\&.so /etc/passwd \(aqquoted\(aq \(rsfBbold
.PP
.nf
  kept
    as it is
.fi
.SH OPTIONS
.TP
\fB\-\-status\fR \fIname\fR
only this name
.SH GLOBAL OPTIONS
.TP
\fB\-\-json\fR
print JSON
.SH EXAMPLES
.nf
  pt list\-tasks A
\&.TH x
.fi
.SH SEE ALSO
pt(1)
`
	if got := page.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	var again bytes.Buffer
	if err := Write(&again, list, "1.2.3"); err != nil || again.String() != page.String() {
		t.Errorf("second call of Write: got another page (%v), want the same", err)
	}
}
