// Command bench measures the product and baselines in the same run. It prints readable text
// to standard error and one JSON line per measurement to standard output.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	only := flags.String("only", "decisions,tokens,routes", "comma-separated list of decisions, tokens, routes, scale (takes minutes and gigabytes) and neighbor (takes minutes)")
	attackName := flags.String("attack", "", "internal, used by neighbor: load the server of -info until standard input ends")
	infoFile := flags.String("info", "", "file written by ptd dev --info-file")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *attackName != "" {
		return attack(ctx, *attackName, *infoFile)
	}
	r := &report{os.Stdout, os.Stderr}
	for _, part := range strings.Split(*only, ",") {
		var err error
		switch part {
		case "decisions":
			err = decisions(ctx, r)
		case "tokens":
			err = tokens(r)
		case "routes":
			err = routes(ctx, r)
		case "scale":
			err = scale(ctx, r)
		case "neighbor":
			err = measureNeighbor(ctx, r)
		default:
			err = fmt.Errorf("unknown part %q; known parts: decisions, tokens, routes, scale, neighbor", part)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", part, err)
		}
	}
	return nil
}
