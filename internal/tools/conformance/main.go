// Command conformance tests the server with the official tools of the Model Context
// Protocol. It builds ptd and pt, starts `ptd dev` on a temporary folder, runs every server
// scenario of @modelcontextprotocol/conformance against /mcp for each version of the
// protocol, and runs @modelcontextprotocol/inspector against /mcp and `pt mcp`. It prints the
// results. It fails if a check fails that is not in expected.json, or if a check in
// expected.json does not fail.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

// run runs all tests. The working directory must be the root of the repository.
func run(ctx context.Context, out io.Writer) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	expected, err := readExpected(filepath.Join("internal", "tools", "conformance", "expected.json"))
	if err != nil {
		return err
	}
	tools, err := install(ctx, filepath.Join("internal", "tools", "conformance", "npm"))
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "parapet-conformance-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	product, err := start(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, product.stop()) }()
	var passed, failed int
	for _, version := range versions {
		results, err := scenarios(ctx, tools, product.open, version, filepath.Join(dir, "results-"+version))
		if err != nil {
			return err
		}
		p, f := report(out, version, results, expected)
		passed, failed = passed+p, failed+f
	}
	p, f := inspect(ctx, out, tools, product)
	passed, failed = passed+p, failed+f
	fmt.Fprintf(out, "%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		return fmt.Errorf("%d checks had an unexpected result", failed)
	}
	return nil
}
