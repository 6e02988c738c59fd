package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parapet/internal/postgres"
	"parapet/jobs"
)

func newJobs(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "jobs",
		Short: "Manage background jobs",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newJobsList(p),
		newJobsChange(p, "retry", "Run a job again as soon as possible", "A job that runs, or that waits without a delay, does not change.", (*jobs.Admin).Retry),
		newJobsChange(p, "cancel", "Cancel a job", "A job that runs is stopped. A job that has ended does not change.", (*jobs.Admin).Cancel),
	)
	return cmd
}

func newJobsList(p *program) *cobra.Command {
	var f jobs.ListFilter
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List jobs, newest first",
		Long: "List connects with DATABASE_URL and prints one job per line, separated by tabs:\n" +
			"id, kind, queue, state, attempt, time of the next or last attempt, tenant and last error.",
		Example: "  ptd jobs list --state retryable,discarded\n  ptd jobs list --kind agent_run",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.Limit < 1 || f.Limit > 10000 {
				return &usageError{errors.New("--limit must be from 1 to 10000")}
			}
			return p.jobsAdmin(cmd.Context(), func(admin *jobs.Admin) error {
				list, err := admin.List(cmd.Context(), f)
				if err != nil {
					return err
				}
				for _, j := range list {
					p.printJob(j)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringSliceVar(&f.States, "state", nil, "only jobs in these `states`: "+strings.Join(jobs.States(), ", "))
	cmd.Flags().StringSliceVar(&f.Kinds, "kind", nil, "only jobs of these `kinds`")
	cmd.Flags().StringSliceVar(&f.Queues, "queue", nil, "only jobs of these `queues`")
	cmd.Flags().IntVar(&f.Limit, "limit", 100, "maximum number of jobs")
	return cmd
}

func newJobsChange(p *program, name, short, long string, change func(*jobs.Admin, context.Context, int64) (jobs.Listed, error)) *cobra.Command {
	return &cobra.Command{
		Use:     name + " ID...",
		Short:   short,
		Long:    long + " The command connects with DATABASE_URL and prints each job in its new state, like ptd jobs list.",
		Example: "  ptd jobs " + name + " 4711",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ids := make([]int64, len(args))
			for i, arg := range args {
				id, err := strconv.ParseInt(arg, 10, 64)
				if err != nil || id < 1 {
					return &usageError{fmt.Errorf("the id of a job must be a whole number, not %q; ptd jobs list shows the ids", arg)}
				}
				ids[i] = id
			}
			return p.jobsAdmin(cmd.Context(), func(admin *jobs.Admin) error {
				var failed []error
				for _, id := range ids {
					job, err := change(admin, cmd.Context(), id)
					if err != nil {
						failed = append(failed, err)
						continue
					}
					p.printJob(job)
				}
				return errors.Join(failed...)
			})
		},
	}
}

func (p *program) printJob(j jobs.Listed) {
	fmt.Fprintf(p.out, "%d\t%s\t%s\t%s\t%d/%d\t%s\t%s\t%q\n",
		j.ID, j.Kind, j.Queue, j.State, j.Attempt, j.MaxAttempts, j.ScheduledAt.UTC().Format(time.RFC3339), j.Tenant, j.LastError)
}

func (p *program) jobsAdmin(ctx context.Context, f func(*jobs.Admin) error) error {
	return p.jobsPool(ctx, func(pool *postgres.Pool) error {
		admin, err := jobs.NewAdmin(pool)
		if err != nil {
			return err
		}
		return f(admin)
	})
}
