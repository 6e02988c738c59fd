// Command bench measures the product beside baselines in the same run. It
// prints sentences for a person on the error stream and one JSON line a figure
// on standard output.
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
	only := flags.String("only", "decisions,tokens,routes", "what to measure, a comma list; scale, which takes minutes and some gigabytes, and neighbor, which takes minutes, are not among the usual ones")
	attackName := flags.String("attack", "", "used by neighbor itself: load the server of -info until the standard input ends")
	infoFile := flags.String("info", "", "file that ptd dev --info-file wrote")
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
			err = neighbor(ctx, r)
		default:
			err = fmt.Errorf("there is no part %q; known: decisions, tokens, routes, scale, neighbor", part)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", part, err)
		}
	}
	return nil
}
