package jobs_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/events"
	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
	"parapet/internal/uid"
	"parapet/jobs"
)

// processURL is the environment variable that makes the test binary run the jobs of the
// database at this address.
const processURL = "PARAPET_TEST_JOBS_URL"

func TestMain(m *testing.M) {
	if url := os.Getenv(processURL); url != "" {
		runProcess(url)
	}
	os.Exit(m.Run())
}

// runProcess runs the jobs until it is killed. Its subscriber records which process
// handled an event.
func runProcess(url string) {
	ctx := context.Background()
	pool, err := postgres.Open(ctx, postgres.Config{URL: url, MaxConns: 16})
	if err == nil {
		log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
		_, err = jobs.Start(ctx, jobs.Deps{Pool: pool, Log: log, Subscribers: []events.Subscriber{{
			Name: "process", Types: []string{"projects.*"},
			Handle: func(ctx context.Context, tx pgx.Tx, list []events.Event) error {
				for _, e := range list {
					if e.AggregateID == pauseHere {
						// Pause only once, because the next leader receives the event too. A rollback does
						// not undo nextval.
						var n int
						if err := tx.QueryRow(ctx, `SELECT nextval('public.pauses')`).Scan(&n); err != nil {
							return err
						}
						if n == 1 {
							_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
						}
					}
					if _, err := tx.Exec(ctx, `INSERT INTO public.taken (process, aggregate) VALUES ($1, $2)`, os.Getpid(), e.AggregateID); err != nil {
						return err
					}
				}
				return nil
			},
		}}})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {}
}

// pauseHere is the aggregate of an event whose subscriber stops its process during the
// transaction.
const pauseHere = "pause"

// jobProcess is a process that runs the jobs of a database.
type jobProcess struct {
	*exec.Cmd
	log *logBuffer
}

// startProcesses starts n processes that run the jobs of a database, and returns them by
// process id.
func startProcesses(t *testing.T, db *pgtest.DB, n int) map[int]jobProcess {
	t.Helper()
	owner := db.Owner(t)
	if _, err := owner.Exec(t.Context(), `CREATE TABLE public.taken (n bigint GENERATED ALWAYS AS IDENTITY, process integer, aggregate text)`); err != nil {
		t.Fatal(err)
	}
	if _, err := owner.Exec(t.Context(), `CREATE SEQUENCE public.pauses`); err != nil {
		t.Fatal(err)
	}
	if _, err := owner.Exec(t.Context(), `GRANT INSERT ON public.taken TO parapet_jobs`); err != nil {
		t.Fatal(err)
	}
	if _, err := owner.Exec(t.Context(), `GRANT USAGE ON SEQUENCE public.pauses TO parapet_jobs`); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	processes := make(map[int]jobProcess)
	for range n {
		cmd, log := exec.Command(exe), &logBuffer{}
		cmd.Env = append(os.Environ(), processURL+"="+db.RoleURL(postgres.RoleJobs))
		cmd.Stderr = log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			if t.Failed() {
				t.Logf("log of process %d:\n%s", cmd.Process.Pid, log)
			}
		})
		processes[cmd.Process.Pid] = jobProcess{cmd, log}
	}
	return processes
}

// A leader that is paused, during a transaction or between two, is replaced, both for
// dispatching events and for River's schedules. When it resumes, it repeats nothing and is
// no longer the leader.
func TestRunner_PausedLeaderIsReplaced(t *testing.T) {
	t.Parallel()
	for _, scenario := range []string{"dispatcher", "dispatcher in a transaction", "scheduler"} {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			processes := startProcesses(t, db, 2)
			owner, tenant := db.Owner(t), uid.New()
			count := func(sql string, args ...any) int {
				t.Helper()
				var n int
				if err := owner.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
					t.Fatal(err)
				}
				return n
			}
			publish(t, db, tenant, "before")
			pgtest.Eventually(t, time.Minute, "the first event is delivered", func() bool { return count(`SELECT count(*) FROM public.taken`) == 1 })
			pgtest.Eventually(t, time.Minute, "River has a leader", func() bool { return count(`SELECT count(*) FROM river.river_leader`) == 1 })
			const dispatchers = `SELECT coalesce(max(epoch), 0) FROM events.leases WHERE name = 'dispatching'`
			term := count(dispatchers)
			leader, want := count(`SELECT process FROM public.taken`), []string{"before", "after"}
			var scheduler string
			if err := owner.QueryRow(t.Context(), `SELECT leader_id FROM river.river_leader`).Scan(&scheduler); err != nil {
				t.Fatal(err)
			}
			if scenario == "scheduler" {
				for pid := range processes {
					if strings.Contains(scheduler, fmt.Sprintf("-%d-", pid)) {
						leader = pid
					}
				}
			}
			if scenario == "dispatcher in a transaction" {
				want = []string{"before", pauseHere, "after"}
				publish(t, db, tenant, pauseHere)
				pgtest.Eventually(t, time.Minute, "the leader is paused", func() bool { return isStopped(t, leader) })
			} else if err := processes[leader].Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			paused := time.Now()
			publish(t, db, tenant, "after")
			pgtest.Eventually(t, time.Minute, "another process has taken over", func() bool {
				return count(`SELECT count(*) FROM public.taken`) == len(want) &&
					(scenario != "scheduler" || count(`SELECT count(*) FROM river.river_leader WHERE leader_id <> $1`, scheduler) == 1)
			})
			if scenario == "scheduler" {
				// Without watchLeader, River replaces a paused leader as well, but later.
				pgtest.Eventually(t, time.Minute, "another process has ended the leader's term", func() bool {
					for pid, process := range processes {
						text := process.log.String()
						if pid != leader && strings.Contains(text, "did not renew its term and was replaced") && strings.Contains(text, scheduler) {
							return true
						}
					}
					return false
				})
			}
			t.Logf("from SIGSTOP to the work of another process: %s", time.Since(paused).Round(time.Millisecond))
			resumed := time.Now()
			if err := processes[leader].Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			for i := range 20 {
				publish(t, db, tenant, fmt.Sprint(i))
				want = append(want, fmt.Sprint(i))
			}
			pgtest.Eventually(t, time.Minute, "all events are delivered", func() bool { return count(`SELECT count(*) FROM public.taken`) >= len(want) })
			got, err := postgres.CollectScalars[string](t.Context(), owner, `SELECT aggregate FROM public.taken ORDER BY n`)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("events: got %v, %v; want %v", got, err, want)
			}
			// The resumed process does not dispatch; the other one handles the new events. Two things
			// may still make it deliver events: a sweep of the outbox, which runs in any process,
			// and no or another change of the leader on a busy machine.
			sweeps := count(`SELECT count(*) FROM river.river_job WHERE kind = 'outbox_sweep'
				AND array_to_string(attempted_by, ' ') LIKE '%-' || $1::text || '-%' AND coalesce(finalized_at, now()) >= $2`, strconv.Itoa(leader), resumed)
			changes := count(dispatchers) - term
			if n := count(`SELECT count(*) FROM public.taken WHERE process = $1`, leader); scenario != "scheduler" && sweeps == 0 && changes == 1 && n != 1 {
				t.Errorf("events of the paused process: got %d, want 1, from before the pause", n)
			}
			if n := count(`SELECT count(*) FROM (SELECT 1 FROM river.river_job WHERE kind = 'outbox_sweep' GROUP BY date_trunc('minute', scheduled_at) HAVING count(*) > 1) twice`); n != 0 {
				t.Errorf("periods that were scheduled twice: got %d, want 0", n)
			}
		})
	}
}

// isStopped reports whether a process is stopped by a signal.
func isStopped(t *testing.T, pid int) bool {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, state, _ := strings.Cut(string(text), ") ")
	return strings.HasPrefix(state, "T")
}

// Three processes run the jobs. The dispatching one is killed twice while events are
// written. Another takes over, and every event has its effect once and in order.
func TestRunner_KilledDispatcher_IsReplaced(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, tenant := db.Owner(t), uid.New()
	processes := startProcesses(t, db, 3)
	taken := func() []int {
		t.Helper()
		list, err := postgres.CollectScalars[int](t.Context(), owner, `SELECT process FROM public.taken ORDER BY n`)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	sent := 0
	send := func() {
		publish(t, db, tenant, fmt.Sprint(sent))
		sent++
	}
	send()
	pgtest.Eventually(t, time.Minute, "the first event is delivered", func() bool { return len(taken()) == 1 })
	for range 2 {
		list := taken()
		leader := processes[list[len(list)-1]]
		killed := time.Now()
		if err := leader.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			send()
		}
		pgtest.Eventually(t, time.Minute, "another process delivers the events", func() bool { return len(taken()) == sent })
		t.Logf("from kill -9 to the delivery by another process: %s", time.Since(killed).Round(time.Millisecond))
	}
	got, err := postgres.CollectScalars[string](t.Context(), owner, `SELECT aggregate FROM public.taken ORDER BY n`)
	if err != nil || len(got) != sent {
		t.Fatalf("events: got %v, %v; want %d", got, err, sent)
	}
	for i, g := range got {
		if g != fmt.Sprint(i) {
			t.Fatalf("events: got %v, want them in order", got)
		}
	}
	distinct := make(map[int]bool)
	for _, process := range taken() {
		distinct[process] = true
	}
	if len(distinct) != 3 {
		t.Errorf("processes that dispatched events: got %d, want 3", len(distinct))
	}
}
