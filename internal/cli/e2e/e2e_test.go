package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// server is a running `ptd dev` with the content of its info file.
type server struct {
	pt string
	// dir contains the data, the log and the info file.
	dir     string
	BaseURL string   `json:"baseUrl"`
	Tenants []tenant `json:"tenants"`
}

type tenant struct {
	ID            string `json:"id"`
	Slug          string `json:"slug"`
	Organisations []struct {
		ID string `json:"id"`
	} `json:"organisations"`
	Users []struct {
		ID             string `json:"id"`
		Email          string `json:"email"`
		Password       string `json:"password"`
		IntegrationKey string `json:"integrationKey"`
	} `json:"users"`
}

// startTime is the time limit for the start of the server, which creates its database
// first.
const startTime = 2 * time.Minute

// TestPT runs scripts and an agent against one server, and restarts another one.
func TestPT(t *testing.T) {
	t.Parallel()
	s := start(t)
	t.Run("Scripts", s.testScripts)
	t.Run("AgentLoop", s.testAgentLoop)
	t.Run("FollowAcrossServerRestarts", s.testFollow)
}

func (s *server) testScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               s.setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
			"login": s.login,
			"save":  save,
		},
	})
}

// start builds both programs and runs the server until the test ends.
func start(t *testing.T) *server {
	t.Helper()
	s := &server{pt: filepath.Join(t.TempDir(), "pt"), dir: newDataFolder(t)}
	for name, out := range map[string]string{"pt": s.pt, "ptd": s.ptd()} {
		cmd := exec.CommandContext(t.Context(), "go", "build", "-o", out, "parapet/cmd/"+name)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build of %s: %v\n%s", name, err, text)
		}
	}
	s.run(t, "0")
	return s
}

// ptd returns the path of the server's program.
func (s *server) ptd() string { return filepath.Join(filepath.Dir(s.pt), "ptd") }

// newDataFolder returns a folder for the database, which may run as another user.
func newDataFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for parent := dir; strings.HasPrefix(parent, os.TempDir()+"/"); parent = filepath.Dir(parent) {
		if err := os.Chmod(parent, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// run starts the server on a port, or on a free one for "0", until the test ends or stop
// is called. It returns when the server accepts requests.
func (s *server) run(t *testing.T, port string) (stop func(os.Signal)) {
	t.Helper()
	info := filepath.Join(s.dir, "info.json")
	if err := os.Remove(info); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(s.dir, "ptd.log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), s.ptd(), "dev", "--port", port, "--data-dir", filepath.Join(s.dir, "data"), "--info-file", info)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	t.Cleanup(func() {
		<-exited // the end of the test's context stops the server
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("server log:\n%s", text)
		}
	})
	await(t, s, info, exited, log.Name())
	return func(signal os.Signal) {
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		exited <- <-exited
	}
}

func await(t *testing.T, s *server, info string, exited chan error, log string) {
	t.Helper()
	for end := time.Now().Add(startTime); ; time.Sleep(50 * time.Millisecond) {
		select {
		case err := <-exited:
			exited <- err
			text, _ := os.ReadFile(log)
			t.Fatalf("the server exited: %v\n%s", err, text)
		default:
		}
		text, err := os.ReadFile(info)
		if err == nil {
			if err := json.Unmarshal(text, s); err != nil {
				t.Fatal(err)
			}
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the server is not ready after %s", startTime)
		}
	}
}

// setup sets the environment of a script: the path of pt, a configuration directory, and
// the IDs of tenants, organisations and users as $ACME, $ACME_ORG, $ACME_ADMIN and so on.
func (s *server) setup(env *testscript.Env) error {
	env.Setenv("PATH", filepath.Dir(s.pt)+string(os.PathListSeparator)+env.Getenv("PATH"))
	env.Setenv("PT_BASE_URL", s.BaseURL)
	env.Setenv("PT_CONFIG_DIR", filepath.Join(env.WorkDir, ".pt"))
	for _, t := range s.Tenants {
		name := strings.ToUpper(t.Slug)
		env.Setenv(name, t.ID)
		env.Setenv(name+"_ORG", t.Organisations[0].ID)
		for _, u := range t.Users {
			user, _, _ := strings.Cut(u.Email, "@")
			user = strings.NewReplacer("-", "_", "+", "_").Replace(strings.ToUpper(user))
			env.Setenv(name+"_"+user, u.ID)
		}
	}
	return nil
}

// login logs a user in: login <email> [flags of pt auth login].
func (s *server) login(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: login email [flags]")
	}
	for _, t := range s.Tenants {
		for _, u := range t.Users {
			if u.Email != args[0] || u.Password == "" {
				continue
			}
			cmd := exec.Command(s.pt, append([]string{"auth", "login", "--email", u.Email}, args[1:]...)...)
			cmd.Stdin = strings.NewReader(u.Password + "\n")
			cmd.Env = []string{"PT_BASE_URL=" + s.BaseURL, "PT_CONFIG_DIR=" + ts.Getenv("PT_CONFIG_DIR")}
			if text, err := cmd.CombinedOutput(); err != nil {
				ts.Fatalf("login of %s: %v\n%s", args[0], err, text)
			}
			return
		}
	}
	ts.Fatalf("no account %s", args[0])
}

// exits runs a command and checks its exit code: exits <code> <command> <args>.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code command [args]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%s: %v", args[1], err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// save sets an environment variable to the output of the last command: save NAME.
func save(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: save NAME")
	}
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

// BenchmarkStart measures the startup time and the binary size of pt. Shell prompts and
// loops start pt often.
func BenchmarkStart(b *testing.B) {
	pt := filepath.Join(b.TempDir(), "pt")
	build := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", pt, "parapet/cmd/pt")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, text)
	}
	info, err := os.Stat(pt)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := exec.CommandContext(b.Context(), pt, "version").Run(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(info.Size())/(1<<20), "MiB")
}
