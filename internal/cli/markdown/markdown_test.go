package markdown

import "testing"

func example(s Style) string {
	d := New(s)
	d.Heading(1, "AC-1 A\x1b[31m title")
	d.Field("Status", "TODO")
	d.Field("Due", "")
	d.Field("Label", "a\nb")
	d.Quote("first\n\n# second\u202e\n")
	d.Quote("")
	d.Table([]string{"Key", "Title", "Due"}, [][]string{{"AC-1", "a | b", "2027-01-01"}, {"AC-12", "日本語 and much more text", ""}}, 1)
	d.Line("The end.")
	return d.String()
}

func TestDoc_PlainStyleIsMarkdown(t *testing.T) {
	t.Parallel()
	want := `# AC-1 A\x1b[31m title

- Status: TODO
- Label: a\nb

> first
>
> # second\u202e

| Key | Title | Due |
| --- | --- | --- |
| AC-1 | a \| b | 2027-01-01 |
| AC-12 | 日本語 and much more text |  |

The end.
`
	if got := example(Style{Color: true, Width: 10}); got != want {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
}

func TestDoc_RenderedStyleFitsTerminalWidth(t *testing.T) {
	t.Parallel()
	want := `AC-1 A\x1b[31m title

  Status: TODO
  Label: a\nb

│ first
│
│ # second\u202e

Key    Title              Due
AC-1   a | b              2027-01-01
AC-12  日本語 and much …

The end.
`
	if got := example(Style{Rendered: true, Width: 36}); got != want {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
	colored := New(Style{Rendered: true, Color: true})
	colored.Heading(1, "T")
	if got := colored.String(); got != "\x1b[1mT\x1b[0m\n" {
		t.Fatalf("colored heading: got %q, want bold text", got)
	}
}
