package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"parapet/internal/app"
)

// probeTimeout limits the request to the program that uses the address.
const probeTimeout = 3 * time.Second

// checkListenAddress checks that ptd can listen, or that ptd listens already.
func (e *examination) checkListenAddress(ctx context.Context) {
	const check = "listen address"
	address := net.JoinHostPort(e.cfg.Host, strconv.Itoa(e.cfg.Port))
	l, err := app.Listen(ctx, e.cfg)
	if err == nil {
		_ = l.Close()
		if e.cfg.Port == 0 {
			e.ok(check, "a free port of %s", e.cfg.Host)
			return
		}
		e.ok(check, "%s is free", address)
		return
	}
	if version, ok := e.probe(ctx); ok {
		e.ok(check, "ptd %s serves %s already", version, address)
		return
	}
	result := err.Error()
	var setting *app.SettingError
	if errors.As(err, &setting) {
		result = setting.Problem
	}
	e.problem(check, result, "Stop the other program, or change PORT or PT_HOST.")
}

// probe returns the version of the ptd that serves the listen address.
func (e *examination) probe(ctx context.Context) (version string, ok bool) {
	host := e.cfg.Host
	if addr, err := netip.ParseAddr(host); err == nil && addr.IsUnspecified() {
		// The address of every interface is none that a client can connect to.
		host = "127.0.0.1"
		if addr.Is6() {
			host = "::1"
		}
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, strconv.Itoa(e.cfg.Port))+"/", nil)
	if err != nil {
		return "", false
	}
	client := &http.Client{
		Transport:     &http.Transport{Proxy: nil},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		return "", false
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil {
		return "", false
	}
	var page struct{ Name, Version string }
	if err := json.Unmarshal(text, &page); err != nil || page.Name != "Parapet" {
		return "", false
	}
	return strconv.QuoteToASCII(page.Version), true
}
