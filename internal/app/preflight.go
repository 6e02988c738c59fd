package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"

	"parapet/internal/token"
)

// Preflight checks the settings that need neither a database nor policies: the
// secrets and the listen address. `ptd dev` calls it before it creates a cluster. The
// error is one line that names the setting.
func Preflight(ctx context.Context, cfg Config) error {
	if _, err := newKeyring(cfg); err != nil {
		return err
	}
	l, err := Listen(ctx, cfg)
	if err != nil {
		return err
	}
	return l.Close()
}

func newKeyring(cfg Config) (*token.Keyring, error) {
	return token.New(token.Config{Secret: cfg.JWTSecret, PreviousSecret: cfg.JWTPrevious})
}

// Listen opens the address of the HTTP API.
func Listen(ctx context.Context, cfg Config) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(cfg.Host, strconv.Itoa(cfg.Port)))
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, &SettingError{"PORT", fmt.Sprintf("port %d of %s is in use by another process; choose another port, or 0 for any free one", cfg.Port, cfg.Host)}
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, &SettingError{"PT_HOST", fmt.Sprintf("%s is not an address of this machine", cfg.Host)}
	case errors.Is(err, syscall.EACCES):
		return nil, &SettingError{"PORT", fmt.Sprintf("this user may not listen on port %d; choose a port above 1023", cfg.Port)}
	default:
		return nil, fmt.Errorf("setting PORT: %w", err)
	}
}
