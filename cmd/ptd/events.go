package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"parapet/internal/events"
	"parapet/internal/postgres"
)

func newEvents(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Manage events that could not be delivered",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newEventsParked(p), newEventsUnpark(p))
	return cmd
}

func newEventsParked(p *program) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "parked",
		Short: "List parked deliveries, oldest first",
		Long: "Parked connects with DATABASE_URL and lists the deliveries that failed too often, one per line, separated by tabs:\n" +
			"time, subscriber, tenant, event, type, attempts and last error. The metric outbox_parked counts them.",
		Example: "  ptd events parked",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 {
				return &usageError{errors.New("--limit must be 1 or more")}
			}
			return p.jobsPool(cmd.Context(), func(pool *postgres.Pool) error {
				list, err := events.ListParked(cmd.Context(), pool, limit)
				if err != nil {
					return err
				}
				for _, d := range list {
					fmt.Fprintf(p.out, "%s\t%s\t%s\t%s\t%s\t%d\t%q\n",
						d.ParkedAt.UTC().Format(time.RFC3339), d.Subscriber, d.TenantID, d.EventID, d.Type, d.Attempts, d.LastError)
				}
				return nil
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 100, "maximum number of deliveries")
	return cmd
}

func newEventsUnpark(p *program) *cobra.Command {
	return &cobra.Command{
		Use:     "unpark SUBSCRIBER",
		Short:   "Retry a subscriber's parked deliveries",
		Long:    "Unpark connects with DATABASE_URL and returns a subscriber's parked deliveries to its queue. Fix the cause of the failures first.",
		Example: "  ptd events unpark notifications",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.jobsPool(cmd.Context(), func(pool *postgres.Pool) error {
				n, err := events.Unpark(cmd.Context(), pool, args[0])
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(p.out, "%d deliveries returned to the queue\n", n)
				return err
			})
		},
	}
}
