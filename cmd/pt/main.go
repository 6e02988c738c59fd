// Command pt is the command-line client of Parapet.
package main

import (
	"context"
	"os"
)

func main() {
	i := &interrupts{}
	ctx, stop := i.watch(context.Background())
	code := run(ctx, os.Args[1:], os.Getenv, streams{os.Stdin, os.Stdout, os.Stderr}, i)
	stop()
	os.Exit(code)
}
