package cli

import (
	"time"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/contract/tracker"
)

func newClaimCmds(inv *invocation) []*cobra.Command {
	var taken, kept string
	return []*cobra.Command{
		showRecord(inv, tracker.ClaimNextReady, commandForm[tracker.ClaimNextReadyIn]{
			long: `Takes the first task of the ready set, assigns it to you (or to the agent that
--agent names) and begins it, in one step: two that claim never get the same task.
An empty ready set is no error: nothing is claimed, and the exit code is 0.

With --lease the task goes back to the ready set when the time is over, unless
keep-claim keeps it or its status has moved on.`,
			example: `  pt claim-next-ready APOLLO
  pt claim-next-ready APOLLO --lease 30m --json --jq '.data.task.key, .data.lease.id'
  pt claim-next-ready APOLLO --agent agent+builder@acme.example`,
			flags: []string{"agent"},
			setup: func(cmd *cobra.Command, _ *tracker.ClaimNextReadyIn) {
				bindLease(cmd, &taken, "for good when absent")
			},
			fill: func(in *tracker.ClaimNextReadyIn) (err error) {
				in.LeaseSeconds, err = leaseSeconds(taken)
				return err
			},
		}, func(d *markdown.Doc, out *tracker.ClaimNextReadyOut) {
			if !out.Claimed || out.Task == nil {
				d.Line("No task is ready.")
				return
			}
			showTask(d, out.Task)
			if out.Lease != nil {
				d.Heading(2, "Lease")
				writeLease(d, out.Lease)
			}
		}),
		showRecord(inv, tracker.KeepClaim, commandForm[tracker.KeepClaimIn]{
			example: `  pt keep-claim APOLLO-17 --lease-id 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --lease 30m`,
			flags:   []string{"leaseId"},
			setup: func(cmd *cobra.Command, _ *tracker.KeepClaimIn) {
				bindLease(cmd, &kept, "as long as it was taken for when absent")
			},
			fill: func(in *tracker.KeepClaimIn) (err error) {
				in.LeaseSeconds, err = leaseSeconds(kept)
				return err
			},
		}, func(d *markdown.Doc, l *tracker.Lease) {
			d.Heading(1, "Lease")
			writeLease(d, l)
		}),
		showRecord(inv, tracker.ReleaseClaim, commandForm[tracker.ReleaseClaimIn]{
			example: `  pt release-claim APOLLO-17 --lease-id 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f`,
			flags:   []string{"leaseId"},
		}, showTask),
	}
}

func bindLease(cmd *cobra.Command, lease *string, absent string) {
	cmd.Flags().StringVar(lease, "lease", "", "For how long, as a `duration` such as 30m; "+absent)
}

// leaseSeconds reads a lease; none is 0.
func leaseSeconds(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	d, err := parseTimeout(text)
	if err != nil || d < time.Second {
		return 0, usagef("--lease %q is not a duration from 1s to 24h, such as 30m", text)
	}
	return int(d / time.Second), nil
}

func writeLease(d *markdown.Doc, l *tracker.Lease) {
	d.Field("ID", string(l.ID))
	d.Field("Expires", formatTime(l.ExpiresAt))
}
