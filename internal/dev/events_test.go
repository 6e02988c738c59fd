package dev

import (
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"parapet/internal/contract"
	"parapet/internal/events/eventtest"
)

// eventsOfOtherTests are the types of events that one request to each operation does not
// cause, with the test that validates them.
var eventsOfOtherTests = map[string]string{
	"directory.user.key_expiry_warned":     "jobs: TestKeyExpiry_WarnsOnceADay",
	"events.webhook.disabled":              "webhook: TestSend_DisablesAtOnce",
	"projects.agent_run.cancelled":         "tracker: TestExecuteRun_CancelsRunThatMayNotStart",
	"projects.agent_run.finished":          "tracker: TestExecuteRun_StoresCommandOutcome",
	"projects.agent_run.queued":            "tracker: TestAssignTask_ToAgentQueuesRun",
	"projects.agent_run.requeued":          "tracker: TestExecuteRun_RetriesFailedCommand",
	"projects.agent_run.scored":            "tracker: TestScoreRuns_ScoresFinishedRunsOnce",
	"projects.agent_run.started":           "tracker: TestExecuteRun_StoresCommandOutcome",
	"projects.initiative.progress_updated": "tracker: TestInitiativeProgress_FollowsTasks",
	"projects.programme.progress_updated":  "tracker: TestInitiativeProgress_FollowsTasks",
	"projects.task.claim_lapsed":           "tracker: TestLease_ExpiryReturnsTaskToReadySet",
}

// checkEvents validates every event in the database against the JSON Schema of its type, and
// requires that there is an event of each type.
func (d *Dev) checkEvents(t testing.TB) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), d.info.DirectURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	seen := eventtest.Validate(t, conn)
	var unseen []string
	for _, m := range contract.Modules() {
		for _, e := range m.Events() {
			if seen[e.Name] == 0 && eventsOfOtherTests[e.Name] == "" {
				unseen = append(unseen, e.Name)
			}
		}
	}
	if slices.Sort(unseen); len(unseen) > 0 {
		t.Errorf("got no event of the types %q: let the valid request of an operation cause one", unseen)
	}
}
