package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parapet/internal/clock"
	"parapet/internal/events"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

func newEvents(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "events",
		Short: "List events and deliver them again",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newEventsList(p), newEventsReplay(p), newEventsParked(p), newEventsUnpark(p))
	return cmd
}

func newEventsList(p *program) *cobra.Command {
	var f events.ListFilter
	var tenant string
	var since time.Duration
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List events, newest first",
		Long: "List connects with DATABASE_URL and prints one event per line, separated by tabs:\n" +
			"time, tenant, id, type, record, and the state: waiting (not in the queues yet), or the numbers of pending and parked deliveries.",
		Example: "  ptd events list --type 'projects.task.*' --since 2h",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.Limit < 1 {
				return &usageError{errors.New("--limit must be 1 or more")}
			}
			if tenant != "" {
				id, err := op.ParseUUID(tenant)
				if err != nil {
					return &usageError{fmt.Errorf("--tenant: %w", err)}
				}
				f.Tenant = id
			}
			f.Since = clock.System{}.Now().Add(-since)
			return p.jobsPool(cmd.Context(), func(pool *postgres.Pool) error {
				list, err := events.List(cmd.Context(), pool, f)
				if err != nil {
					return err
				}
				for i := range list {
					e := &list[i]
					state := fmt.Sprintf("%d pending, %d parked", e.Pending, e.Parked)
					if e.DispatchedAt == nil {
						state = "waiting"
					}
					fmt.Fprintf(p.out, "%s\t%s\t%s\t%s\t%s:%s\t%s\n",
						e.OccurredAt.UTC().Format(time.RFC3339), e.TenantID, e.ID, e.Type, e.AggregateType, e.AggregateID, state)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&tenant, "tenant", "", "only events of the tenant with this `id`")
	cmd.Flags().StringVar(&f.Type, "type", "", "only events of this `type`, or of all types with a prefix, such as 'projects.task.*'")
	cmd.Flags().StringVar(&f.Aggregate, "record", "", "only events about the record with this `id`")
	cmd.Flags().DurationVar(&since, "since", 24*time.Hour, "only events of this time span before now")
	cmd.Flags().IntVar(&f.Limit, "limit", 100, "maximum number of events")
	return cmd
}

func newEventsReplay(p *program) *cobra.Command {
	var subscriber string
	cmd := &cobra.Command{
		Use:   "replay EVENT... --subscriber NAME",
		Short: "Deliver events to a subscriber again",
		Long: "Replay connects with DATABASE_URL and puts events into the queue of a subscriber, also if the subscriber has handled them:\n" +
			"its effect then happens again. A wrong name gives a list of the subscribers. Events are kept for 30 days.",
		Example: "  ptd events replay 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --subscriber notifications",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ids := make([]op.UUID, len(args))
			for i, arg := range args {
				id, err := op.ParseUUID(arg)
				if err != nil {
					return &usageError{fmt.Errorf("the id of an event %w", err)}
				}
				ids[i] = id
			}
			return p.jobsPool(cmd.Context(), func(pool *postgres.Pool) error {
				names, err := events.SubscriberNames(cmd.Context(), pool)
				if err != nil {
					return err
				}
				if !slices.Contains(names, subscriber) {
					return &usageError{fmt.Errorf("--subscriber %q has received no event; it must be one of: %s", subscriber, strings.Join(names, ", "))}
				}
				var failed []error
				for _, id := range ids {
					switch err := events.Replay(cmd.Context(), pool, id, subscriber); {
					case errors.Is(err, events.ErrNoEvent):
						failed = append(failed, fmt.Errorf("there is no delivered event %s; ptd events list shows the events", id))
					case err != nil:
						failed = append(failed, err)
					default:
						fmt.Fprintf(p.out, "%s is in the queue of %s\n", id, subscriber)
					}
				}
				return errors.Join(failed...)
			})
		},
	}
	cmd.Flags().StringVar(&subscriber, "subscriber", "", "the `name` of the subscriber")
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
