package agentrun

import (
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"

	"parapet/internal/agentcmd"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/postgres"
)

// FuzzOutcome checks that an accepted command output is one JSON object with a known
// status, and that rejected output does not change the run. Output that the database
// cannot store is rejected too:
// TestExecuteRun_RetriesFailedCommand of package tracker has such outcomes.
func FuzzOutcome(f *testing.F) {
	for _, seed := range []string{
		`{"status":"SUCCEEDED","summary":" Landed. ","notes":[1,"two",null]}`, `{"status":"FAILED"}`, `{}`, `[]`, `null`, `{"summary":"\u0000"}`, `{"a":"\ud800"}`,
		`{"a":1e400000}`, `{"a":1e-400000}`, "{\"a\":\"\xff\"}", `{"status":"DONE"}`, `{"a":1,"a":2}`, `{"Status":"FAILED"}`, `{"\u0000":1}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, output []byte) {
		r := Row{Status: contract.RunRunning}
		if err := r.parseOutcome(output); err != nil {
			if !errors.Is(err, agentcmd.ErrOutput) || r.Status != contract.RunRunning || r.Outcome != nil || r.Summary != nil {
				t.Fatalf("rejected output %q: got the run %+v, %v; want it unchanged with ErrOutput", output, r, err)
			}
			return
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(r.Outcome, &object); err != nil || object == nil {
			t.Fatalf("accepted output %q: got %v, want a JSON object as outcome", output, err)
		}
		if s := postgres.ValueOrZero(r.Summary); !utf8.ValidString(s) || utf8.RuneCountInString(s) > maxRunSummary {
			t.Fatalf("output %q: got the summary %q, want valid UTF-8 of at most %d characters", output, s, maxRunSummary)
		}
		if failed := r.Status == contract.RunFailed; !failed && r.Status != contract.RunSucceeded || failed != (r.Error != nil) {
			t.Fatalf("output %q: got status %q and error %q, want SUCCEEDED, or FAILED with an error", output, r.Status, postgres.ValueOrZero(r.Error))
		}
	})
}
