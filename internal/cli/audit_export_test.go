package cli

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// serveAudit serves a log with n entries. Each entry's action is a formula.
func serveAudit(t *testing.T, n int) *service {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		after, err := strconv.Atoi(r.URL.Query().Get("after"))
		limit, limitErr := strconv.Atoi(r.URL.Query().Get("limit"))
		if r.URL.Path != "/api/audit/entries" || err != nil || limitErr != nil {
			http.Error(w, "unexpected request "+r.URL.String(), http.StatusBadRequest)
			return
		}
		var items []map[string]any
		for seq := after + 1; seq <= n && len(items) < limit; seq++ {
			items = append(items, map[string]any{
				"id": fmt.Sprintf("018f3c5e-7a10-7c3e-9d2b-%012d", seq), "seq": seq, "actorType": "user", "action": "=SUM(A1)", "resourceType": "task",
				"module": "tracker", "changes": map[string]any{"title": "a,\"b\"\n"}, "correlationId": "018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f",
				"createdAt": "2027-03-01T10:00:00Z", "hash": "00",
			})
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(map[string]any{"items": items}); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	return &service{t: t, url: s.URL}
}

func TestAuditExport_WritesEachEntryOnce(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 3, maxPage, maxPage + 1} {
		s := serveAudit(t, n)
		dir := t.TempDir()
		table, lines := filepath.Join(dir, "audit.CSV"), filepath.Join(dir, "audit.jsonl")
		for _, name := range []string{table, lines} {
			if got := invoke(t, s, environment{}, "audit", "export", name); got.code != ExitDone || !strings.Contains(got.err, "written to") {
				t.Fatalf("%d entries: export to %s: got %+v, want exit %d", n, name, got, ExitDone)
			}
		}
		f, err := os.Open(table)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(f).ReadAll()
		_ = f.Close()
		if err != nil || len(rows) != n+1 {
			t.Fatalf("%d entries: got %d rows and error %v, want a row for each entry and the column names", n, len(rows), err)
		}
		for i, row := range rows[1:] {
			if row[0] != strconv.Itoa(i+1) || row[2] != "'=SUM(A1)" || row[15] != `{"title":"a,\"b\"\n"}` {
				t.Fatalf("%d entries: got row %q, want the entry %d in order, with a harmless action and its changes as JSON", n, row, i+1)
			}
		}
		text, err := os.ReadFile(lines)
		if err != nil || strings.Count(string(text), "\n") != n || strings.Count(string(text), `"action":"=SUM(A1)"`) != n {
			t.Errorf("%d entries: got %d lines, %v, want a line with the unchanged action for each entry", n, strings.Count(string(text), "\n"), err)
		}
	}
}

func TestAuditExport_RejectsWrongFormat(t *testing.T) {
	t.Parallel()
	s := serveAudit(t, 1)
	for _, args := range [][]string{{"--format", "xml"}, {"--json"}, {"a.csv", "b.csv"}} {
		if got := invoke(t, s, environment{}, append([]string{"audit", "export"}, args...)...); got.code != ExitUsage || got.out != "" {
			t.Errorf("audit export %q: got %+v, want exit %d and no output", args, got, ExitUsage)
		}
	}
}

func TestToCell_IsNeverAFormula(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"": "", "task.created": "task.created", "a=b": "a=b", "=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@A1": "'@A1",
		" =1": "' =1", "\t=1": `\t=1`, "\n=1": `\n=1`, "＝1": "'＝1", "\u00a0=1": "'\u00a0=1", "'=1": "'=1",
	} {
		if got := toCell(value); got != want {
			t.Errorf("toCell(%q): got %q, want %q", value, got, want)
		}
	}
}
