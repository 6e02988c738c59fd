package tracker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"parapet/internal/agentcmd"
	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/events/eventtest"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/tracker"
	"parapet/internal/uid"
)

// shell returns an agent command that runs a shell script.
func shell(timeout time.Duration, lines string) *agentcmd.Command {
	return agentcmd.New([]string{"sh", "-c", lines}, timeout, agentcmd.Environment(os.Getenv))
}

// addAgent adds a member that is an agent.
func (w *world) addAgent() *person {
	w.t.Helper()
	return w.addPerson(person{kind: authz.KindAgent, roles: []string{"Agent"}})
}

func runRequests(s scene) map[string]fields {
	return map[string]fields{"list-runs": {}, "get-run": {"runId": s.run}}
}

// listRuns returns the first page of runs, latest first.
func (w *world) listRuns(in ...fields) []contract.AgentRunSummary {
	w.t.Helper()
	return do[op.Page[contract.AgentRunSummary]](w, w.manager, "list-runs", merge(fields{}, in...)).Items
}

func (w *world) requireOneRun() contract.AgentRunSummary {
	w.t.Helper()
	list := w.listRuns()
	if len(list) != 1 {
		w.t.Fatalf("got %d runs, want 1: %+v", len(list), list)
	}
	return list[0]
}

// execute makes one attempt at the run and returns the delay before the next one.
func (a *otherProcess) execute(run op.UUID) time.Duration {
	a.t.Helper()
	retryAfter, err := a.service.Runs().Execute(context.Background(), a.acme, run)
	if err != nil {
		a.t.Fatal(err)
	}
	return retryAfter
}

func TestAssignTask_ToAgentQueuesRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo", fields{"prefix": "APO"})
	agent, member := w.addAgent(), w.addPerson(person{roles: []string{"Member"}})
	task := w.createTask(p, "Land", fields{"assignee": agent.id})
	run := w.requireOneRun()
	if run.TaskID != task.ID || run.TaskKey != "APO-1" || run.Agent != agent.id || run.Status != contract.RunQueued || run.CreatedBy != w.manager.id ||
		run.Attempts != 0 || !strings.Contains(run.Note, "PT_AGENT_COMMAND") {
		t.Errorf("got %+v", run)
	}
	w.wantAuditAndEvents(1, "agent_run.queued", contract.EventRunQueued, run.ID)
	update := func(who *person, task *contract.Task, in fields) {
		t.Helper()
		do[contract.Task](w, who, "update-task", merge(fields{"projectId": p.ID, "task": task.Key}, in))
	}
	// Reassigning the task while the run is queued adds no run.
	update(w.manager, task, fields{"assignee": member.id})
	update(w.manager, task, fields{"assignee": agent.id})
	// No run: unchanged assignee, human assignee, finished task, and an agent assigning itself.
	update(w.manager, task, fields{"title": "Land softly", "assignee": agent.id})
	w.createTask(p, "A person's", fields{"assignee": member.id})
	w.createTask(p, "Nobody's")
	w.createTask(p, "Over", fields{"assignee": agent.id, "status": "DONE"})
	own := do[contract.Task](w, agent, "create-task", fields{"projectId": p.ID, "title": "Its own"})
	update(agent, own, fields{"assignee": agent.id})
	if n := len(w.listRuns()); n != 1 {
		t.Errorf("got %d runs, want 1", n)
	}
	// A rejected request queues no run.
	w.wantError(fault.CodeValidation, w.manager, "create-task", fields{"projectId": p.ID, "title": "x", "assignee": agent.id, "parentTaskId": uid.New()})
	// Runs: a task reassigned to an agent, and a second agent on the same task.
	update(w.manager, own, fields{"assignee": w.addAgent().id})
	update(w.manager, task, fields{"assignee": w.addAgent().id})
	if n := len(w.listRuns()); n != 3 {
		t.Errorf("got %d runs, want 3", n)
	}
	do[op.None](w, w.manager, "delete-project", fields{"projectId": p.ID})
	if n := w.count(`SELECT count(*) FROM projects.agent_runs`); n != 0 {
		t.Errorf("%d runs left, want 0", n)
	}
	eventtest.Require(t, w.owner, "projects.agent_run.queued")
}

func TestExecuteRun_StoresCommandOutcome(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo", fields{"prefix": "APO"})
	agent := w.addAgent()
	task := w.createTask(p, "Land", fields{"assignee": agent.id, "description": "on the moon"})
	run := w.requireOneRun()
	inputFile := filepath.Join(t.TempDir(), "input")
	a := w.newModule(2, tracker.Deps{Agent: shell(time.Minute, "cat >"+inputFile+`; echo '{"status":"SUCCEEDED","summary":" Landed. ","notes":[1,"two"]}'`)})
	if waiting := a.requireOneRun(); waiting.Note != "" {
		t.Errorf("note of a queued run with a command: got %q, want none", waiting.Note)
	}
	if again := a.execute(run.ID); again != 0 {
		t.Errorf("got retry after %s", again)
	}
	text, err := os.ReadFile(inputFile)
	if err != nil {
		t.Fatal(err)
	}
	var input struct {
		RunID    op.UUID
		TenantID op.UUID
		Agent    op.UUID
		Attempt  int
		Task     contract.Task
		Lessons  json.RawMessage
	}
	if err := json.Unmarshal(text, &input); err != nil {
		t.Fatal(err)
	}
	if input.RunID != run.ID || input.TenantID != w.acme || input.Agent != agent.id || input.Attempt != 1 || input.Task.ID != task.ID ||
		input.Task.Description != "on the moon" || string(input.Lessons) != `{"found":false,"lessons":[]}` {
		t.Errorf("input of the command: got %s", text)
	}
	got := do[contract.AgentRun](w, w.manager, "get-run", fields{"runId": run.ID})
	if got.Status != contract.RunSucceeded || got.Summary != "Landed." || got.Attempts != 1 || got.StartedAt == nil || got.FinishedAt == nil || got.Error != "" ||
		got.Note != "" || fmt.Sprint(got.Outcome["notes"]) != "[1 two]" {
		t.Errorf("got %+v", got)
	}
	w.wantAuditAndEvents(1, "agent_run.started", contract.EventRunStarted, run.ID)
	w.wantAuditAndEvents(1, "agent_run.finished", contract.EventRunFinished, run.ID)
	if n := w.count(`SELECT count(*) FROM audit.entries WHERE action LIKE 'agent_run.%' AND changes::text LIKE '%Landed%'`); n != 0 {
		t.Error("the agent's summary is in an audit entry")
	}
	// A finished run is not executed again.
	if again := a.execute(run.ID); again != 0 {
		t.Errorf("got retry after %s", again)
	}
	if again := a.execute(uid.New()); again != 0 {
		t.Errorf("missing run: got retry after %s", again)
	}
	w.wantAuditAndEvents(1, "agent_run.started", contract.EventRunStarted, run.ID)
	eventtest.Require(t, w.owner, "projects.agent_run.started", "projects.agent_run.finished")
}

func TestExecuteRun_RetriesFailedCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	for code, command := range map[string]*agentcmd.Command{
		"EXIT": shell(time.Minute, "exit 1"), "TIMEOUT": shell(200*time.Millisecond, "sleep 60"), "OUTPUT": shell(time.Minute, "echo '[1]'"),
		"START": agentcmd.New([]string{"/nonexistent/agent"}, time.Minute, agentcmd.Environment(os.Getenv)),
	} {
		task := w.createTask(p, code, fields{"assignee": w.addAgent().id})
		run := w.listRuns(fields{"taskId": task.ID})[0]
		a := w.newModule(2, tracker.Deps{Agent: command})
		for attempt := 1; attempt <= 3; attempt++ {
			again := a.execute(run.ID)
			now := w.listRuns(fields{"taskId": task.ID})[0]
			last := attempt == 3
			if now.Error != code || now.Attempts != attempt || (again == 0) != last || (now.Status == contract.RunFailed) != last || (now.FinishedAt != nil) != last {
				t.Errorf("%s, attempt %d: got retry after %s, run %+v", code, attempt, again, now)
			}
		}
	}
	for output, status := range map[string]string{
		`{"status":"FAILED","summary":"No way."}`: contract.RunFailed, `{}`: contract.RunSucceeded,
		`{"summary":"\u0000"}`: contract.RunQueued, `{"n":1e999999}`: contract.RunQueued, `{"status":"DONE"}`: contract.RunQueued, ``: contract.RunQueued,
		`{} {}`: contract.RunQueued, `null`: contract.RunQueued, `{"summary":"` + strings.Repeat("ß", 3000) + `"}`: contract.RunSucceeded,
	} {
		task := w.createTask(p, "x", fields{"assignee": w.addAgent().id})
		file := filepath.Join(t.TempDir(), "answer")
		if err := os.WriteFile(file, []byte(output), 0o600); err != nil {
			t.Fatal(err)
		}
		run := w.listRuns(fields{"taskId": task.ID})[0]
		w.newModule(2, tracker.Deps{Agent: shell(time.Minute, "cat "+file)}).execute(run.ID)
		now := w.listRuns(fields{"taskId": task.ID})[0]
		want := map[string]string{contract.RunFailed: "REPORTED", contract.RunQueued: "OUTPUT"}[status]
		if now.Status != status || now.Error != want {
			t.Errorf("%.40q: %+v, want %s", output, now, status)
		}
	}
	eventtest.Require(t, w.owner, "projects.agent_run.requeued")
}

func TestExecuteRun_CancelsRunThatMayNotStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.newModule(2, tracker.Deps{Agent: shell(time.Minute, "echo '{}'")})
	for code, change := range map[string]func(*contract.Task, *person){
		"REASSIGNED": func(task *contract.Task, _ *person) {
			do[contract.Task](w, w.manager, "update-task", fields{"projectId": task.ProjectID, "task": task.Key, "assignee": nil})
		},
		"TASK_OVER": func(task *contract.Task, _ *person) {
			do[contract.Task](w, w.manager, "update-task", fields{"projectId": task.ProjectID, "task": task.Key, "status": "DONE"})
		},
		// The project's classification is raised above the agent's clearance after the assignment.
		"AGENT_NOT_CLEARED": func(task *contract.Task, _ *person) {
			w.exec(`UPDATE projects.projects SET classification = 'SECRET' WHERE id = $1`, task.ProjectID)
		},
		"GUEST_CUSTOMER": func(_ *contract.Task, agent *person) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.people[agent.id].roles = append(w.people[agent.id].roles, "Guest Customer")
		},
		"AGENT_NOT_ACTIVE": func(_ *contract.Task, agent *person) {
			w.exec(`UPDATE identity.users SET status = 'SUSPENDED' WHERE id = $1`, agent.id)
		},
	} {
		agent := w.addAgent()
		task := w.createTask(w.createProject(code), code, fields{"assignee": agent.id})
		run := w.listRuns(fields{"taskId": task.ID})[0]
		change(task, agent)
		if again := a.execute(run.ID); again != 0 {
			t.Errorf("%s: got retry after %s", code, again)
		}
		if now := w.listRuns(fields{"taskId": task.ID})[0]; now.Status != contract.RunCancelled || now.Error != code || now.Attempts != 0 {
			t.Errorf("%s: %+v", code, now)
		}
		w.wantAuditAndEvents(1, "agent_run.cancelled", contract.EventRunCancelled, run.ID)
	}
	eventtest.Require(t, w.owner, "projects.agent_run.cancelled")
}

// newNamedPipe creates a FIFO. It is open for reading and writing, so that neither side waits to open it.
func newNamedPipe(t *testing.T) *os.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pipe.Close() })
	return pipe
}

// Eight concurrent calls: one starts the command; while it runs, the others return the delay until
// its attempt must have ended. A cancelled attempt requeues the run.
func TestExecuteRun_ConcurrentCallsStartCommandOnce(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, 8)
	p := w.createProject("Apollo")
	w.createTask(p, "Land", fields{"assignee": w.addAgent().id})
	run := w.requireOneRun()
	log := filepath.Join(t.TempDir(), "log")
	end := newNamedPipe(t)
	a := w.newModule(8, tracker.Deps{Agent: shell(time.Minute, "echo begin >>"+log+"; read _ <"+end.Name()+"; echo end >>"+log+"; echo '{}'")})
	waits := make(chan time.Duration, 8)
	for range cap(waits) {
		go func() { waits <- a.execute(run.ID) }()
	}
	for range cap(waits) - 1 {
		if again := <-waits; again > 2*time.Minute || again < 30*time.Second {
			t.Errorf("got retry after %s while the command runs, want its remaining time", again)
		}
	}
	if _, err := end.WriteString("end\n"); err != nil {
		t.Fatal(err)
	}
	if again := <-waits; again != 0 {
		t.Errorf("got retry after %s from the call that started the command, want none", again)
	}
	text, err := os.ReadFile(log)
	if err != nil || string(text) != "begin\nend\n" {
		t.Errorf("log of the command: got %q, %v, want one begin and one end", text, err)
	}
	task := w.createTask(p, "Other", fields{"assignee": w.addAgent().id})
	run = w.listRuns(fields{"taskId": task.ID})[0]
	begin := newNamedPipe(t)
	slow := w.newModule(2, tracker.Deps{Agent: shell(time.Minute, "echo begin >"+begin.Name()+"; sleep 60")})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = begin.Read(make([]byte, 1))
		cancel()
	}()
	if again, err := slow.service.Runs().Execute(ctx, w.acme, run.ID); err != nil || again == 0 {
		t.Errorf("cancelled attempt: got retry after %s, %v, want a delay", again, err)
	}
	if now := w.listRuns(fields{"taskId": task.ID})[0]; now.Status != contract.RunQueued || now.Attempts != 0 {
		t.Errorf("cancelled attempt: got %+v", now)
	}
	// A killed process leaves the run in status RUNNING: another attempt starts after its time,
	// and the run fails after the last attempt.
	lost := func(attempts int) {
		w.exec(`UPDATE projects.agent_runs SET status = 'RUNNING', attempts = $1, started_at = now(), held_until = now() - interval '1 second' WHERE id = $2`, attempts, run.ID)
	}
	lost(1)
	next := w.newModule(2, tracker.Deps{Agent: shell(time.Minute, "echo '{}'")})
	if again := next.execute(run.ID); again != 0 {
		t.Errorf("second attempt: got retry after %s, want none", again)
	}
	if now := w.listRuns(fields{"taskId": task.ID})[0]; now.Status != contract.RunSucceeded || now.Attempts != 2 {
		t.Errorf("second attempt: got %+v", now)
	}
	w.exec(`UPDATE projects.agent_runs SET finished_at = NULL, status = 'RUNNING', held_until = now() WHERE id = $1`, run.ID)
	lost(3)
	next.execute(run.ID)
	if now := w.listRuns(fields{"taskId": task.ID})[0]; now.Status != contract.RunFailed || now.Error != "PROCESS_LOST" {
		t.Errorf("after the last attempt: got %+v", now)
	}
}

func TestListRuns_VisibilityPagesAndFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, secret := w.createProject("Apollo"), w.createProject("Secret", fields{"classification": "SECRET"})
	agent := w.addPerson(person{kind: authz.KindAgent, roles: []string{"Agent"}, clearance: "SECRET"})
	for i := range 5 {
		w.createTask(p, fmt.Sprint("Task ", i), fields{"assignee": agent.id})
	}
	secretTask := w.createTask(secret, "Launch", fields{"assignee": agent.id})
	hidden := w.listRuns(fields{"taskId": secretTask.ID})[0]
	member := w.addPerson(person{roles: []string{"Member"}})
	list := func(who *person, in ...fields) []contract.AgentRunSummary {
		t.Helper()
		return do[op.Page[contract.AgentRunSummary]](w, who, "list-runs", merge(fields{}, in...)).Items
	}
	if n := len(list(member)); n != 5 {
		t.Errorf("member: got %d runs, want 5", n)
	}
	if n := len(list(w.addPerson(person{roles: []string{"Member"}, projects: []op.UUID{secret.ID}}))); n != 0 {
		t.Errorf("member of another project: got %d runs, want 0", n)
	}
	if n := len(list(w.addPerson(person{tenant: w.globex, roles: []string{"Admin"}, clearance: "SECRET"}))); n != 0 {
		t.Errorf("another tenant: got %d runs, want 0", n)
	}
	w.wantError(fault.CodeForbidden, w.addPerson(person{roles: []string{"Guest Customer"}}), "list-runs", fields{})
	w.wantError(fault.CodeForbidden, agent, "get-run", fields{"runId": hidden.ID})
	w.wantError(fault.CodeNotFound, member, "get-run", fields{"runId": hidden.ID})
	w.wantError(fault.CodeNotFound, member, "get-run", fields{"runId": uid.New()})
	w.wantError(fault.CodeNotFound, w.addPerson(person{tenant: w.globex, roles: []string{"Admin"}}), "get-run", fields{"runId": hidden.ID})

	// Pages are full and in order, and the filters apply.
	var got []op.UUID
	in := fields{"limit": 2}
	for range 4 {
		page := do[op.Page[contract.AgentRunSummary]](w, member, "list-runs", in)
		for _, r := range page.Items {
			got = append(got, r.ID)
		}
		if page.NextCursor == "" {
			break
		}
		in["cursor"] = page.NextCursor
	}
	var want []op.UUID
	for _, r := range list(member) {
		want = append(want, r.ID)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || len(got) != 5 {
		t.Errorf("pages: got %v, want %v", got, want)
	}
	for n, in := range map[int]fields{6: {"agent": agent.id}, 5: {"projectId": p.ID}, 1: {"taskId": secretTask.ID}, 0: {"status": "FAILED"}} {
		if got := len(w.listRuns(in)); got != n {
			t.Errorf("list-runs %v: got %d runs, want %d", in, got, n)
		}
	}
}

func TestScoreRuns_ScoresFinishedRunsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	a := w.newModule(4, tracker.Deps{Agent: shell(time.Minute, `echo '{"summary":"Landed."}'`), Scoring: map[op.UUID]float64{w.acme: 1, w.globex: 0.5}})
	good, bad := w.createTask(p, "Good", fields{"assignee": w.addAgent().id}), w.createTask(p, "Bad", fields{"assignee": w.addAgent().id})
	w.createTask(p, "Waiting", fields{"assignee": w.addAgent().id})
	run := w.listRuns(fields{"taskId": good.ID})[0]
	a.execute(run.ID)
	w.newModule(2, tracker.Deps{Agent: shell(time.Minute, `echo '{"status":"FAILED"}'`)}).execute(w.listRuns(fields{"taskId": bad.ID})[0].ID)
	do[contract.Task](w, w.manager, "update-task", fields{"projectId": p.ID, "task": good.Key, "status": "DONE"})

	// Concurrent scorers score each run once.
	var mu sync.Mutex
	var total contract.ScoreReport
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			report, err := a.service.Runs().Score(context.Background())
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			total.Scored, total.Skipped, total.Tenants = total.Scored+report.Scored, total.Skipped+report.Skipped, report.Tenants
		})
	}
	all.Wait()
	if total != (contract.ScoreReport{Tenants: 2, Scored: 2}) {
		t.Errorf("score report: got %+v", total)
	}
	scored := w.listRuns(fields{"taskId": good.ID})[0]
	if scored.Score == nil || *scored.Score < 0.99 || scored.ScoredAt == nil || scored.ScoreComponents["completed"] != 1 || scored.ScoreComponents["landed"] != 1 ||
		scored.ScoreComponents["reported"] != 1 || scored.ScoreComponents["steady"] != 1 || len(scored.ScoreComponents) != 5 {
		t.Errorf("successful run: got %+v", scored)
	}
	w.wantAuditAndEvents(1, "agent_run.scored", contract.EventRunScored, run.ID)
	if poor := w.listRuns(fields{"taskId": bad.ID})[0]; poor.Score == nil || *poor.Score > 0.25 || poor.ScoreComponents["completed"] != 0 {
		t.Errorf("failed run: got %+v", poor)
	}
	if n := w.count(`SELECT count(*) FROM projects.agent_runs WHERE scoring IS NULL`); n != 1 {
		t.Errorf("got %d unscored runs, want only the queued one", n)
	}
	eventtest.Require(t, w.owner, "projects.agent_run.scored")
}

func TestScoreRuns_SampleDependsOnRateOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	task := w.createTask(p, "Land")
	//nolint:dupword // SQL
	w.exec(`INSERT INTO projects.agent_runs (tenant_id, id, project_id, task_id, agent_id, status, created_by, created_at, started_at, finished_at)
SELECT t.tenant_id, md5(n::text)::uuid, t.project_id, t.id, gen_random_uuid(), 'SUCCEEDED', t.created_by, m, m, m
FROM projects.tasks t, now() m, generate_series(1, 1000) n WHERE t.id = $1`, task.ID)
	sample := func(rate float64) string {
		t.Helper()
		w.exec(`UPDATE projects.agent_runs SET scoring = NULL, score = NULL, score_components = NULL, scored_at = NULL`)
		report, err := w.newModule(2, tracker.Deps{Scoring: map[op.UUID]float64{w.acme: rate}}).service.Runs().Score(t.Context())
		if err != nil || report.Scored+report.Skipped != 1000 {
			t.Fatalf("%+v, %v", report, err)
		}
		var ids string
		if err := w.owner.QueryRow(t.Context(), `SELECT coalesce(string_agg(id::text, ' ' ORDER BY id), '') FROM projects.agent_runs WHERE scoring = 'SCORED'`).Scan(&ids); err != nil {
			t.Fatal(err)
		}
		return ids
	}
	tenth := sample(0.1)
	if n := len(strings.Fields(tenth)); n < 70 || n > 130 {
		t.Errorf("sample of 10 %% of 1000 runs: got %d", n)
	}
	if sample(0.1) != tenth {
		t.Error("two samples of the same rate differ")
	}
	half := sample(0.5)
	for _, id := range strings.Fields(tenth) {
		if !strings.Contains(half, id) {
			t.Errorf("run %s is in the 10 %% sample but not in the 50 %% sample", id)
		}
	}
	if sample(0) != "" || len(strings.Fields(sample(1))) != 1000 {
		t.Error("rate 0 must sample no run and rate 1 all runs")
	}
}
