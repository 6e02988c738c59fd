package cli

import (
	"context"
	"reflect"
	"strconv"

	"parapet/internal/cli/markdown"
	"parapet/internal/client"
	"parapet/internal/contract/identity"
	"parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

func inboxForm() form {
	return form{
		long: `Show what waits for you in all projects: decision requests that you may answer, tasks to
review, tasks assigned to you, tasks that you may claim, and your API keys that expire
in less than 14 days. Each section ends with the command for the next step. --json has no
keys; list-keys lists them.`,
		example: `  pt inbox
  pt inbox --limit 3
  pt inbox --json --jq '.data.decisions.items[].taskKey'`,
		page: showing(writeInbox), with: fetchExpiringKeys,
	}
}

// inboxDecision is a decision request as the inbox shows it.
type inboxDecision struct {
	Task     string   `json:"task"`
	Question string   `json:"question"`
	Options  []string `json:"options"`
	By       string   `json:"by"`
}

// writeInbox writes the sections that contain something.
func writeInbox(d *markdown.Doc, in *tracker.Inbox) {
	d.Heading(1, "Inbox")
	isEmpty := true
	section := func(title string, items any, hasMore bool, next string) {
		list := reflect.ValueOf(items)
		if list.Len() == 0 {
			return
		}
		isEmpty = false
		count := strconv.Itoa(list.Len())
		if hasMore {
			count += "+"
		}
		d.Heading(2, title+" ("+count+")")
		writeTable(d, list, "")
		d.Line(next)
	}
	if s := in.Decisions; s != nil && len(s.Items) > 0 {
		answer := "<option>"
		if len(s.Items[0].Options) == 0 {
			answer = `"your text"`
		}
		section("Decisions to make", inboxDecisions(s.Items), s.HasMore, "Answer: pt answer "+s.Items[0].TaskKey+" "+answer)
	}
	if s := in.Reviews; s != nil && len(s.Items) > 0 {
		section("To review", s.Items, s.HasMore, "Read: pt get-task "+s.Items[0].Key)
	}
	if s := in.Assigned; s != nil && len(s.Items) > 0 {
		section("Assigned to you", s.Items, s.HasMore, "Update: pt update-task "+s.Items[0].Key+" --status <status>. All: pt search --mine --open")
	}
	if s := in.Ready; s != nil && len(s.Items) > 0 {
		section("Ready to start", s.Items, s.HasMore, "Claim the next task: pt claim-next-ready "+op.TaskKeyPrefix(s.Items[0].Key)+". All: pt search --ready")
	}
	if isEmpty {
		d.Line("No decisions, reviews or tasks wait for you.")
	}
}

func inboxDecisions(requests []tracker.DecisionRequest) []inboxDecision {
	rows := make([]inboxDecision, len(requests))
	for i, r := range requests {
		rows[i] = inboxDecision{r.TaskKey, r.Question, r.Options, personName(r.RaisedByUser, r.RaisedBy)}
	}
	return rows
}

// fetchExpiringKeys fetches the caller's keys that expire soon. A caller who may not list
// keys has no such section.
func fetchExpiringKeys(ctx context.Context, k *call, c *client.Client) (func(*markdown.Doc), error) {
	soon := k.inv.Clock.Now().Add(op.Days(expiryWarningDays))
	var keys []identity.Key
	err := forEachItem(ctx, c, identity.ListKeys, &identity.ListKeysIn{}, func(key *identity.Key) error {
		if key.RevokedAt == nil && key.Expiry.After(k.inv.Clock.Now()) && key.Expiry.Before(soon) {
			keys = append(keys, *key)
		}
		return nil
	})
	if err != nil && !fault.HasCode(err, fault.CodeForbidden) {
		return nil, err
	}
	return func(d *markdown.Doc) {
		if len(keys) > 0 {
			d.Heading(2, "Keys that expire soon ("+strconv.Itoa(len(keys))+")")
			writeItems(d, keys, "keys")
			d.Line("Replace: pt issue-key <label>")
		}
	}, nil
}
