package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parapet/internal/contract/tracker"
)

// importService is a fake of the import operation. It matches items by ID. An item with
// the title "poison" makes it reject the whole batch; with the title "reject", only that
// item fails.
type importService struct {
	seen    map[string]string
	batches []int
	keys    map[string]bool
	// fail maps the number of a batch to the HTTP status of an error response.
	fail map[int]int
	// onBatch is called for each batch, if it is set.
	onBatch func()
}

func (s *importService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct{ Items []json.RawMessage }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.batches = append(s.batches, len(in.Items))
	s.keys[r.Header.Get("Idempotency-Key")] = true
	if status := s.fail[len(s.batches)]; status != 0 {
		w.WriteHeader(status)
		return
	}
	if s.onBatch != nil {
		s.onBatch()
	}
	if strings.Contains(fmt.Sprintf("%s", in.Items), "poison") {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":{"code":"VALIDATION","message":"The batch is poisoned.","requestId":"r"}}`)
		return
	}
	out := tracker.ImportItemsOut{}
	for i, raw := range in.Items {
		var item struct{ ID, Title string }
		if err := json.Unmarshal(raw, &item); err != nil {
			panic(err)
		}
		result := tracker.ImportResult{Index: i, ID: item.ID, Outcome: tracker.OutcomeCreated}
		previous, exists := s.seen[item.ID]
		switch {
		case item.Title == "reject":
			result.Outcome, result.Reason = tracker.OutcomeFailed, "the title is \x1b[31mnot nice"
			out.Failed++
		case exists && previous == string(raw):
			out.Unchanged++
		case exists:
			out.Updated++
		default:
			out.Created++
		}
		s.seen[item.ID] = string(raw)
		out.Results = append(out.Results, result)
	}
	text, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	w.Write(text)
}

func startImport(t *testing.T) (*importService, *service) {
	t.Helper()
	s := &importService{seen: map[string]string{}, keys: map[string]bool{}, fail: map[int]int{}}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	return s, &service{t: t, url: h.URL}
}

func file(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "items.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func items(n int) []string {
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprintf(`{"id":"x-%d","title":"Item %d","status":"open","priority":1,"dependencies":[{"depends_on_id":"x-0","type":"blocks"}]}`, i, i))
	}
	return lines
}

func TestImport_SendsBatchesAndIsRepeatable(t *testing.T) {
	t.Parallel()
	fake, s := startImport(t)
	path := file(t, items(2*batchItems+5)...)
	got := invoke(t, s, environment{}, "import", apollo, path)
	if got.code != ExitDone || !strings.Contains(got.out, "- Created: 405\n") || !strings.Contains(got.out, "- Failed: 0\n") {
		t.Fatalf("first import: got %+v, want exit %d with 405 created and 0 failed items", got, ExitDone)
	}
	if fmt.Sprint(fake.batches) != "[200 200 5]" || len(fake.keys) != 3 {
		t.Fatalf("got batches %v with %d keys, want [200 200 5] with 3 keys", fake.batches, len(fake.keys))
	}
	again := invoke(t, s, environment{}, "import", apollo, path, "--jq", ".data | [.created, .unchanged, .complete]")
	if again.code != ExitDone || again.out != "[0,405,true]\n" {
		t.Fatalf("second import of the same file: got %+v, want 0 created and 405 unchanged items", again)
	}
}

func TestImport_ReportsInvalidLinesAndImportsOthers(t *testing.T) {
	t.Parallel()
	_, s := startImport(t)
	lines := []string{
		"\ufeff" + items(1)[0], "", "not json", `{"id":"a","title":"reject"}`, `{"id":"b","title":7}`, `{"id":"c","title":"C","colour":"red"}`,
		`["a list"]`, "{\"id\":\"d\",\"title\":\"\xff\"}", `{"id":"e","title":"E"} trailing`, `{"id":"f","title":"poison"}`, `{"id":"g","title":"G","description":"` + strings.Repeat("x", 2<<20) + `"}`,
		`{"id":"h","title":"H"}`,
	}
	got := invoke(t, s, environment{}, "import", apollo, file(t, lines...))
	if got.code != ExitError || !strings.Contains(got.out, "- Created: 2\n") || !strings.Contains(got.out, "- Failed: 9\n") || !strings.Contains(got.out, "- Lines: 11\n") {
		t.Fatalf("import of 2 valid and 9 invalid lines: got %+v, want exit %d with 2 created and 9 failed items", got, ExitError)
	}
	for _, want := range []string{
		"line 3: the line must be one valid JSON object", `line 4 (a): the title is \x1b[31mnot nice`, "line 5 (b): the field title",
		`line 6 (c): unknown field "colour"`, "line 7: the item is not a", "line 8: the line is not valid UTF-8", "line 9: ", "line 10 (f): The batch is poisoned.", "line 11: the line is longer than 2 MiB",
	} {
		if !strings.Contains(got.err, want) {
			t.Errorf("stderr does not contain %q:\n%s", want, got.err)
		}
	}
	asJSON := invoke(t, s, environment{}, "import", apollo, file(t, lines...), "--jq", "[.data.failures[].line]")
	if asJSON.code != ExitError || asJSON.out != "[3,4,5,6,7,8,9,10,11]\n" || asJSON.err != "" {
		t.Fatalf("import --jq of the failures: got %+v, want exit %d and lines 3 to 11", asJSON, ExitError)
	}
}

func TestImport_ServiceErrorPrintsPartialResult(t *testing.T) {
	t.Parallel()
	fake, s := startImport(t)
	fake.fail[2] = 403
	got := invoke(t, s, environment{}, "import", apollo, file(t, items(300)...))
	if got.code != ExitForbidden || !strings.Contains(got.out, "incomplete") || !strings.Contains(got.out, "- Created: 200\n") {
		t.Fatalf("import whose second batch is denied: got %+v, want exit %d and a result with 200 created items", got, ExitForbidden)
	}
}

func TestImport_RetriesWhenServiceIsBusy(t *testing.T) {
	t.Parallel()
	fake, s := startImport(t)
	fake.fail[1] = 503
	got := invoke(t, s, environment{}, "import", apollo, file(t, items(3)...))
	if got.code != ExitDone || len(fake.batches) != 2 || len(fake.keys) != 1 {
		t.Fatalf("import with one unavailable response: got %+v and batches %v, want exit %d after 2 requests with the same key", got, fake.batches, ExitDone)
	}
}

func TestImport_StopsWhenContextIsCancelled(t *testing.T) {
	t.Parallel()
	fake, s := startImport(t)
	ctx, cancel := context.WithCancel(t.Context())
	fake.onBatch = func() {
		if len(fake.batches) == 2 {
			cancel()
		}
	}
	got := invokeContext(ctx, t, s, environment{terminal: true}, "import", apollo, file(t, items(1000)...))
	if got.code != ExitCancelled || !strings.Contains(got.out, "incomplete") || len(fake.batches) != 2 {
		t.Fatalf("import with a cancelled context: got %+v and batches %v, want exit %d and an incomplete result after 2 batches", got, fake.batches, ExitCancelled)
	}
}

func TestImport_ReadsStandardInput(t *testing.T) {
	t.Parallel()
	_, s := startImport(t)
	got := invoke(t, s, environment{stdin: strings.Join(items(2), "\n")}, "import", apollo, "-", "--jq", ".data.created")
	if got.code != ExitDone || got.out != "2\n" {
		t.Fatalf("import from standard input: got %+v, want exit %d and 2 created items", got, ExitDone)
	}
}
