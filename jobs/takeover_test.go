package jobs_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"parapet/internal/events"
	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
	"parapet/internal/uid"
	"parapet/jobs"
)

// processURL tells the test binary to be a process that runs the jobs, and which
// database it runs them on.
const processURL = "PARAPET_TEST_JOBS_URL"

func TestMain(m *testing.M) {
	if url := os.Getenv(processURL); url != "" {
		runProcess(url)
	}
	os.Exit(m.Run())
}

// runProcess runs the jobs until it is killed. Its subscriber writes down which
// process took an event.
func runProcess(url string) {
	ctx := context.Background()
	pool, err := postgres.Open(ctx, postgres.Config{URL: url, MaxConns: 16})
	if err == nil {
		_, err = jobs.Start(ctx, jobs.Deps{Pool: pool, Subscribers: []events.Subscriber{{
			Name: "process", Types: []string{"projects.*"},
			Handle: func(ctx context.Context, tx postgres.Querier, list []events.Event) error {
				for _, e := range list {
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

// Three processes run the jobs; the one that dispatches is killed with signal 9,
// twice, while events are written. Another takes over within seconds, and every
// event has its effect once and in order.
func TestAnotherProcessTakesOver(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, tenant := db.Owner(t), uid.New()
	if _, err := owner.Exec(t.Context(), `CREATE TABLE public.taken (n bigint GENERATED ALWAYS AS IDENTITY, process integer, aggregate text)`); err != nil {
		t.Fatal(err)
	}
	if _, err := owner.Exec(t.Context(), `GRANT INSERT ON public.taken TO parapet_jobs`); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	processes := make(map[int]*exec.Cmd)
	for range 3 {
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), processURL+"="+db.RoleURL(postgres.RoleJobs))
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		processes[cmd.Process.Pid] = cmd
	}
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
	eventually(t, 15*time.Second, func() bool { return len(taken()) == 1 })
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
		eventually(t, 15*time.Second, func() bool { return len(taken()) == sent })
		t.Logf("from kill -9 to the delivery by another process: %s", time.Since(killed).Round(time.Millisecond))
		if took := time.Since(killed); took > 5*time.Second {
			t.Errorf("the takeover took %s", took)
		}
	}
	got, err := postgres.CollectScalars[string](t.Context(), owner, `SELECT aggregate FROM public.taken ORDER BY n`)
	if err != nil || len(got) != sent {
		t.Fatalf("took %v, %v, want %d", got, err, sent)
	}
	for i, g := range got {
		if g != fmt.Sprint(i) {
			t.Fatalf("took %v", got)
		}
	}
	distinct := make(map[int]bool)
	for _, process := range taken() {
		distinct[process] = true
	}
	if len(distinct) != 3 {
		t.Errorf("%d processes dispatched, want one after the other all three", len(distinct))
	}
}
