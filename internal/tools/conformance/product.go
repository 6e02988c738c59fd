package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// product is a running `ptd dev` with a logged-in user.
type product struct {
	base, token, pt string
	project         string
	// open is the address of a proxy that adds the credential, because the conformance tool
	// cannot send one.
	open  string
	ptd   *exec.Cmd
	ended chan error
	relay *http.Server
}

const account = "project-manager@acme.example"

func start(ctx context.Context, dir string) (_ *product, err error) {
	p := &product{pt: filepath.Join(dir, "pt"), ended: make(chan error, 1)}
	for _, name := range []string{"pt", "ptd"} {
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(dir, name), "./cmd/"+name).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go build ./cmd/%s: %w\n%s", name, err, out)
		}
	}
	info := filepath.Join(dir, "info.json")
	log, err := os.Create(filepath.Join(dir, "ptd.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	// The process is stopped with a signal, not by ctx, so that it also stops its database.
	p.ptd = exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(dir, "ptd"), "dev", "--port", "0", "--data-dir", filepath.Join(dir, "data"), "--info-file", info)
	p.ptd.Stdout, p.ptd.Stderr = log, log
	if err := p.ptd.Start(); err != nil {
		return nil, err
	}
	go func() { p.ended <- p.ptd.Wait() }()
	defer func() {
		if err != nil {
			err = errors.Join(err, p.stop())
			if text, readErr := os.ReadFile(log.Name()); readErr == nil {
				err = fmt.Errorf("%w\n%s", err, text[max(0, len(text)-2000):])
			}
		}
	}()
	if err := p.login(ctx, info); err != nil {
		return nil, err
	}
	return p, p.listen(ctx)
}

// login waits for the server and logs in the account.
func (p *product) login(ctx context.Context, path string) error {
	var text []byte
	for text == nil {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-p.ended:
			p.ended <- err
			return fmt.Errorf("ptd dev ended: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
		text, _ = os.ReadFile(path) // the file exists once the server is ready
	}
	var info struct {
		BaseURL string
		Tenants []struct {
			Users []struct{ Email, Password string }
		}
	}
	if err := json.Unmarshal(text, &info); err != nil {
		return err
	}
	p.base = info.BaseURL
	for _, tenant := range info.Tenants {
		for _, u := range tenant.Users {
			if u.Email != account {
				continue
			}
			var out struct{ Token string }
			if err := p.post(ctx, "/api/auth/login", map[string]string{"email": u.Email, "password": u.Password}, &out); err != nil {
				return err
			}
			p.token = out.Token
		}
	}
	var project struct{ ID string }
	err := p.post(ctx, "/api/projects", map[string]string{"name": "Conformance", "prefix": "CONF", "startDate": "2027-01-01"}, &project)
	p.project = project.ID
	if err == nil {
		err = p.post(ctx, "/api/projects/"+p.project+"/tasks", map[string]string{"title": "Write it down"}, &struct{}{})
	}
	return err
}

func (p *product) post(ctx context.Context, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if p.token != "" {
		req.Header.Set("Authorization", "Bearer "+p.token)
	}
	res, err := (&http.Client{Timeout: 30 * time.Second}).Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode > 299 {
		return fmt.Errorf("POST %s: %s", path, res.Status)
	}
	return json.NewDecoder(res.Body).Decode(out)
}

// listen starts a proxy to the server that adds the credential. It does not change Host and
// Origin, because the scenarios test them.
func (p *product) listen(ctx context.Context) error {
	target, err := url.Parse(p.base)
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	relay := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
		r.Out.Header.Set("Authorization", "Bearer "+p.token)
	}}
	p.relay = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Read the whole body first: a ReverseProxy aborts the response if the server responds
		// before it has read the body.
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 8<<20))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		relay.ServeHTTP(w, r)
	})}
	go func() { _ = p.relay.Serve(l) }() // stop closes it
	_, port, err := net.SplitHostPort(l.Addr().String())
	p.open = "http://localhost:" + port + "/mcp"
	return err
}

// stop stops the proxy and the server.
func (p *product) stop() error {
	if p.relay != nil {
		_ = p.relay.Close()
	}
	if err := p.ptd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case err := <-p.ended:
		return err
	case <-time.After(time.Minute):
		return errors.Join(errors.New("ptd dev did not end within a minute"), p.ptd.Process.Kill())
	}
}
