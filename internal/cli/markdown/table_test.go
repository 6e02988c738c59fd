package markdown

import (
	"slices"
	"strings"
	"testing"
	"time"

	"parapet/internal/cli/text"
)

func TestGrid_NarrowTerminalOmitsColumnsWithHighestDropFirst(t *testing.T) {
	t.Parallel()
	columns := []Column{{Name: "Key"}, {Name: "Title", Flex: true}, {Name: "Type", Drop: 2}, {Name: "Status", Drop: 1}, {Name: "ID", Drop: 3}}
	rows := [][]Cell{
		{{Text: "HW-1"}, {Text: "Write down every crack that is wider than 2 mm"}, {Text: "TASK"}, {Text: "TODO"}, {Text: strings.Repeat("0", 36)}},
		{{Text: "HW-12"}, {Text: "Line one\n\nand two"}, {Text: "BUG"}, {Text: "DONE"}, {Text: strings.Repeat("1", 36)}},
	}
	for _, tc := range []struct {
		width   int
		omitted []string
	}{
		{0, nil}, {200, nil}, {100, nil}, {80, []string{"ID"}}, {50, []string{"ID"}}, {42, []string{"ID", "Type"}}, {33, []string{"ID", "Type", "Status"}}, {10, []string{"ID", "Type", "Status"}},
	} {
		d := New(Style{Rendered: true, Width: tc.width})
		if got := d.Grid(columns, rows); !slices.Equal(got, tc.omitted) {
			t.Errorf("width %d: left out %v, want %v", tc.width, got, tc.omitted)
		}
		for line := range strings.Lines(d.String()) {
			if n := text.Width(strings.TrimSuffix(line, "\n")); tc.width > 20 && n > tc.width {
				t.Errorf("width %d: the line %q has %d columns", tc.width, line, n)
			}
		}
		if !strings.Contains(d.String(), "HW-12") || (tc.width > 20 && !strings.Contains(d.String(), "Line one and two")) {
			t.Errorf("width %d: got\n%s\nwant all keys and titles in one line", tc.width, d)
		}
	}
	plain := New(Style{Width: 10})
	if omitted := plain.Grid(columns, rows); omitted != nil || !strings.Contains(plain.String(), `Line one\n\nand two`) {
		t.Errorf("plain table: got\n%s\nwithout %v, want all columns", plain, omitted)
	}
}

func TestTime_RelativeToNow(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 18, 30, 0, 0, time.UTC)
	d := New(Style{Now: now})
	for after, want := range map[time.Duration]string{
		0: "just now", -59 * time.Second: "just now", time.Second: "in less than a minute", -time.Minute: "1 minute ago", -3 * time.Hour: "3 hours ago",
		48 * time.Hour: "in 2 days", -47 * time.Hour: "1 day ago", 45 * 24 * time.Hour: "in 1 month", -800 * 24 * time.Hour: "2 years ago",
	} {
		if got := d.Time(now.Add(after)); got != want {
			t.Errorf("%v from now: got %q, want %q", after, got, want)
		}
	}
	if got := New(Style{}).Time(now.In(time.FixedZone("", 3600))); got != "2026-11-22 18:30:00 UTC" {
		t.Errorf("absolute time: got %q, want it in UTC", got)
	}
	if !d.IsPast("2026-11-21") || d.IsPast("2026-11-22") || New(Style{}).IsPast("2026-11-21") {
		t.Error("IsPast: want true only for an earlier day, and only if there is a time to compare with")
	}
}
