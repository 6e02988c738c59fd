package cli

import (
	"time"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/contract/tracker"
)

func newClaimCmds(inv *invocation) []*cobra.Command {
	var newLease, extension string
	return []*cobra.Command{
		newRecordCmd(inv, tracker.ClaimNextReady, commandForm[tracker.ClaimNextReadyIn]{
			long: `Claim the first task of the ready set: assign it to you, or to the agent in --agent,
and start it, in one transaction. Two concurrent claims never return the same task. If
no task is ready, nothing is claimed and the exit code is 0.

With --lease, the task returns to the ready set when the lease expires, unless
keep-claim extends the lease or the status of the task has changed.`,
			example: `  pt claim-next-ready APOLLO
  pt claim-next-ready APOLLO --lease 30m --json --jq '.data.task.key, .data.lease.id'
  pt claim-next-ready APOLLO --agent agent+builder@acme.example`,
			flags: []string{"agent"},
			setup: func(cmd *cobra.Command, _ *tracker.ClaimNextReadyIn) {
				bindLease(cmd, &newLease, "default: no lease, the task stays yours")
			},
			prepareInput: func(in *tracker.ClaimNextReadyIn) (err error) {
				in.LeaseSeconds, err = leaseSeconds(newLease)
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
		newRecordCmd(inv, tracker.KeepClaim, commandForm[tracker.KeepClaimIn]{
			example: `  pt keep-claim APOLLO-17 --lease-id 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --lease 30m`,
			flags:   []string{"leaseId"},
			setup: func(cmd *cobra.Command, _ *tracker.KeepClaimIn) {
				bindLease(cmd, &extension, "default: its previous duration")
			},
			prepareInput: func(in *tracker.KeepClaimIn) (err error) {
				in.LeaseSeconds, err = leaseSeconds(extension)
				return err
			},
		}, func(d *markdown.Doc, l *tracker.Lease) {
			d.Heading(1, "Lease")
			writeLease(d, l)
		}),
		newRecordCmd(inv, tracker.ReleaseClaim, commandForm[tracker.ReleaseClaimIn]{
			example: `  pt release-claim APOLLO-17 --lease-id 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f`,
			flags:   []string{"leaseId"},
		}, showTask),
	}
}

func bindLease(cmd *cobra.Command, lease *string, defaultText string) {
	cmd.Flags().StringVar(lease, "lease", "", "Lease `duration` such as 30m ("+defaultText+")")
}

// leaseSeconds parses the value of --lease. It returns 0 for an empty text.
func leaseSeconds(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	d, err := parseTimeout(text)
	if err != nil || d < time.Second {
		return 0, usagef("--lease %q must be a duration from 1s to 24h, such as 30m", text)
	}
	return int(d / time.Second), nil
}

func writeLease(d *markdown.Doc, l *tracker.Lease) {
	d.Field("ID", string(l.ID))
	d.Field("Expires", formatTime(l.ExpiresAt))
}
