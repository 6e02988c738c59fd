package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"parapet/internal/dev"
)

const (
	neighborRounds = 4
	neighborPhase  = 6 * time.Second
	// attackLead is how long an attack runs before the measurement of the other tenant starts.
	attackLead = 1500 * time.Millisecond
	// victimPause is the pause between two requests of the measured tenant.
	victimPause = 10 * time.Millisecond
	victimTasks = 100
)

// measureNeighbor measures how one tenant affects another: the latency of globex while acme
// is idle and during each attack by acme. All phases run against one `ptd dev` process over
// HTTP. The attacks run in a separate process. The phases alternate, so that all of them
// run under the same conditions.
func measureNeighbor(ctx context.Context, r *report) error {
	server, err := startServer(ctx)
	if err != nil {
		return err
	}
	defer server.stop()
	v, err := newVictim(ctx, server.info)
	if err != nil {
		return err
	}
	took, failed := map[string][]time.Duration{}, map[string]map[string]int{}
	phases := append([]string{""}, attackNames()...)
	for range neighborRounds {
		for _, phase := range phases {
			end, err := server.attack(ctx, phase)
			if err != nil {
				return err
			}
			if failed[phase] == nil {
				failed[phase] = map[string]int{}
			}
			measured, err := v.measure(ctx, neighborPhase, failed[phase])
			if attackErr := end(); err == nil {
				err = attackErr
			}
			if err != nil {
				return fmt.Errorf("phase %q: %w", phase, err)
			}
			took[phase] = append(took[phase], measured...)
		}
	}
	for _, phase := range phases {
		if err := neighborFigures(r, phase, took, failed[phase]); err != nil {
			return err
		}
	}
	return nil
}

func neighborFigures(r *report, phase string, took map[string][]time.Duration, failed map[string]int) error {
	name := "neighbor/unloaded"
	if phase != "" {
		name = "neighbor/" + phase
	}
	slices.Sort(took[phase])
	for _, q := range []struct {
		name string
		at   float64
	}{{"p50", 0.50}, {"p99", 0.99}} {
		f := figure{Name: name + "/" + q.name, Value: quantileMillis(took[phase], q.at), Unit: "ms"}
		if phase != "" {
			base := quantileMillis(took[""], q.at)
			f.Baseline, f.BaselineValue = "unloaded", &base
		}
		if err := r.add(f); err != nil {
			return err
		}
	}
	errorCount := 0
	for message, n := range failed {
		errorCount += n
		fmt.Fprintf(r.notes, "    %d × %s\n", n, message)
	}
	return r.add(figure{Name: name + "/failed", Value: float64(errorCount), Unit: fmt.Sprintf("of %d", len(took[phase]))})
}

// devServer is a `ptd dev` process.
type devServer struct {
	dir  string
	cmd  *exec.Cmd
	info dev.Info
}

// startServer builds ptd, unless the variable PTD contains the path of a binary, and starts
// it on an empty folder.
func startServer(ctx context.Context) (_ *devServer, err error) {
	s := &devServer{}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	if s.dir, err = os.MkdirTemp("", "parapet-neighbor-"); err != nil {
		return nil, err
	}
	binary := os.Getenv("PTD")
	if binary == "" {
		binary = filepath.Join(s.dir, "ptd")
		build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/ptd")
		build.Dir = filepath.Join("..", "..")
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go build: %w: %s", err, out)
		}
	}
	file := filepath.Join(s.dir, "info.json")
	s.cmd = exec.Command(binary, "dev", "--port", "0", "--data-dir", filepath.Join(s.dir, "data"), "--info-file", file)
	s.cmd.Env = append(os.Environ(), "PT_LOG_LEVEL=error")
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		if s.info, err = readInfo(file); err != nil {
			continue
		}
		if err = call(ctx, "GET", s.info.BaseURL+"/readyz", "", nil, nil); err == nil {
			return s, nil
		}
	}
	message, _ := os.ReadFile(log.Name())
	return nil, fmt.Errorf("ptd dev did not start: %w: %s", err, message)
}

func readInfo(file string) (info dev.Info, err error) {
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &info)
	}
	return info, err
}

func (s *devServer) stop() {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Signal(os.Interrupt)
		_ = s.cmd.Wait()
	}
	_ = os.RemoveAll(s.dir)
}

// attack starts an attack in another process and returns the function that ends it. An empty
// name means no attack.
func (s *devServer) attack(ctx context.Context, name string) (func() error, error) {
	if name == "" {
		return func() error { return nil }, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-attack", name, "-info", filepath.Join(s.dir, "info.json"))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	// The process prints a line when the load begins.
	if _, err := stdout.Read(make([]byte, 64)); err != nil {
		return nil, errors.Join(fmt.Errorf("the attack %s did not start", name), cmd.Wait())
	}
	time.Sleep(attackLead)
	return func() error { return errors.Join(stdin.Close(), cmd.Wait()) }, nil
}

// member logs in as the project manager of a tenant and creates a project.
func member(ctx context.Context, info dev.Info, slug, prefix string) (token, project string, err error) {
	email, login, created := "project-manager@"+slug+".example", struct{ Token string }{}, struct{ ID string }{}
	for _, t := range info.Tenants {
		for _, u := range t.Users {
			if t.Slug == slug && u.Email == email && u.Password != nil {
				err = call(ctx, "POST", info.BaseURL+"/api/auth/login", "", map[string]any{"email": email, "password": *u.Password}, &login)
			}
		}
	}
	if err == nil {
		err = call(ctx, "POST", info.BaseURL+"/api/projects", login.Token, map[string]any{"name": "Load " + prefix, "startDate": "2027-01-01", "prefix": prefix}, &created)
	}
	return login.Token, created.ID, err
}

// victim is the measured tenant: a client that lists, reads and changes tasks at a low
// rate.
type victim struct {
	base, token, project string
	tasks                []string
}

func newVictim(ctx context.Context, info dev.Info) (*victim, error) {
	v := &victim{base: info.BaseURL}
	var err error
	if v.token, v.project, err = member(ctx, info, "globex", "VIC"); err != nil {
		return nil, err
	}
	v.tasks, err = importTasks(ctx, v.base, v.token, v.project, items("v", victimTasks, 0))
	return v, err
}

func importTasks(ctx context.Context, base, token, project string, items []map[string]any) ([]string, error) {
	var out struct{ Results []struct{ TaskID string } }
	err := call(ctx, "POST", base+"/api/projects/"+project+"/import", token, map[string]any{"items": items}, &out)
	ids := make([]string, len(out.Results))
	for i, r := range out.Results {
		ids[i] = r.TaskID
	}
	return ids, err
}

// items returns n work items, each of which depends on up to blocks earlier ones.
func items(name string, n, blocks int) []map[string]any {
	list := make([]map[string]any, n)
	for i := range list {
		dependencies := []map[string]string{}
		for j := max(i-blocks, 0); j < i; j++ {
			dependencies = append(dependencies, map[string]string{"depends_on_id": fmt.Sprintf("%s-%d", name, j), "type": "blocks"})
		}
		list[i] = map[string]any{"id": fmt.Sprintf("%s-%d", name, i), "title": fmt.Sprintf("Item %d of %s", i, name), "dependencies": dependencies}
	}
	return list
}

// measure sends requests one after the other: of four, two read one task, one lists
// fifty and one changes a task. It returns the duration of each, including failed ones, and
// counts the failures by message.
func (v *victim) measure(ctx context.Context, length time.Duration, failed map[string]int) ([]time.Duration, error) {
	var took []time.Duration
	for end, n := time.Now().Add(length), 0; time.Now().Before(end) && ctx.Err() == nil; n++ {
		task := v.base + "/api/projects/" + v.project + "/tasks/" + v.tasks[rand.IntN(len(v.tasks))]
		method, url, in := "GET", task, any(nil)
		switch n % 4 {
		case 1:
			url = v.base + "/api/projects/" + v.project + "/tasks?limit=50"
		case 3:
			method, in = "PATCH", map[string]any{"description": fmt.Sprintf("Change number %d at %s.", n, time.Now())}
		}
		began := time.Now()
		err := call(ctx, method, url, v.token, in, nil)
		took = append(took, time.Since(began))
		if err != nil {
			failed[method+": "+shortenError(err, url)]++
		}
		time.Sleep(victimPause)
	}
	if len(took) == 0 {
		return nil, ctx.Err()
	}
	return took, nil
}

// shortenError returns an error's text without the parts that differ between requests.
func shortenError(err error, url string) string {
	text := strings.ReplaceAll(err.Error(), url, "…")
	if i := strings.Index(text, `,"requestId"`); i >= 0 {
		text = text[:i]
	}
	return text
}

// attackClient returns a client without a limit on connections, because an attack opens many.
func attackClient() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 512}, Timeout: time.Minute}
}
