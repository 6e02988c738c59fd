// Command ptd is the Parapet server with its operator commands.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"parapet/internal/agentcmd"
)

func main() {
	if code, ok := agentcmd.Supervise(os.Args); ok {
		os.Exit(code)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Getenv, streams{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}
