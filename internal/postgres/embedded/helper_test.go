package embedded_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/postgres/embedded"
)

// TestMain lets the test binary act as another process, which starts or joins a
// server, prints its address, and runs until its input ends or it is killed.
func TestMain(m *testing.M) {
	if how := os.Getenv("EMBEDDED_TEST_CHILD"); how != "" {
		os.Exit(child(how, os.Getenv("EMBEDDED_TEST_DIR")))
	}
	os.Exit(m.Run())
}

func child(how, dir string) int {
	if how == "join repeatedly" {
		return joinRepeatedly(dir)
	}
	open := embedded.Start
	if how == "join" {
		open = embedded.Join
	}
	server, err := open(context.Background(), embedded.Options{Dir: dir, Ephemeral: how != "start durable"})
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	fmt.Println(server.URL("postgres", server.Superuser()))
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := server.Close(context.Background()); err != nil {
		fmt.Println("error:", err)
		return 1
	}
	return 0
}

// joinRepeatedly joins the shared server several times, with pauses about as long as the
// time after which the server ends.
func joinRepeatedly(dir string) int {
	for i := range 3 {
		server, err := embedded.Join(context.Background(), embedded.Options{Dir: dir})
		if err != nil {
			fmt.Fprintln(os.Stderr, "join:", err)
			return 1
		}
		url := server.URL("postgres", server.Superuser())
		if i == 0 {
			fmt.Println(url)
		}
		for range 10 {
			if _, err := query(url, `SELECT pg_sleep(0.02)::text`); err != nil {
				fmt.Fprintln(os.Stderr, "use:", err)
				return 1
			}
		}
		if err := server.Close(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "leave:", err)
			return 1
		}
		time.Sleep(1900*time.Millisecond + time.Duration(os.Getpid()%7)*100*time.Millisecond)
	}
	return 0
}

// childProcess is another process of the test binary that has started or joined a server.
type childProcess struct {
	cmd   *exec.Cmd
	stdin io.Closer
	url   string
}

func spawn(t *testing.T, how, dir string, attr *syscall.SysProcAttr) *childProcess {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^$")
	cmd.Env = append(os.Environ(), "EMBEDDED_TEST_CHILD="+how, "EMBEDDED_TEST_DIR="+dir)
	cmd.SysProcAttr = attr
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "postgres://") {
		t.Fatalf("the child process printed %q (%v), want the address of its server", line, err)
	}
	return &childProcess{cmd: cmd, stdin: stdin, url: strings.TrimSpace(line)}
}

// kill sends SIGKILL and returns when the process has ended.
func (o *childProcess) kill() {
	_ = o.cmd.Process.Kill()
	_ = o.cmd.Wait()
}

// leave ends the process by closing its input.
func (o *childProcess) leave(t *testing.T) {
	t.Helper()
	_ = o.stdin.Close()
	if err := o.cmd.Wait(); err != nil {
		t.Errorf("end of the child process: got %v, want no error", err)
	}
}

func query(url, sql string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(ctx) }()
	var text string
	err = conn.QueryRow(ctx, sql).Scan(&text)
	return text, err
}

func mustExec(t *testing.T, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("exec %s: %v", sql, err)
	}
}
