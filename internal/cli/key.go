package cli

import (
	"context"
	"strings"

	"parapet/internal/client"
	"parapet/internal/contract/identity"
	"parapet/internal/fault"
	"parapet/internal/op"
)

func keyForms() map[string]form {
	return map[string]form{
		"issue-key": {
			paths: []string{"issue-key", "keys issue"}, short: "Issue an API key for yourself",
			long: `Issue an API key that acts as you. The command requires a session (pt auth login
--email), because an API key cannot issue API keys. The token is shown only once.`,
			example: `  pt issue-key --label "my laptop"
  pt issue-key --label ci --expires-in-days 7 --json --jq .data.token`,
		},
		"issue-service-key": {
			paths: []string{"issue-service-key", "keys issue-service"}, short: "Issue an API key for a service principal",
			long: `Issue an API key that acts as a service principal and is valid for 90 days. The
command requires an administrator's session with the permission
api_key.issue_for_service. The token is shown only once.`,
			example: `  pt issue-service-key --label "PT_AUTH_TOKEN of CI" --user multi-llm-review`,
			custom: []customFlag{required(textFlag("targetUserId", "user", "The service `principal` that the key acts as (id, integration key, email address or name)",
				func(in *identity.IssueServiceKeyIn, name string) error {
					id, err := op.ParseUUID(name)
					if err != nil {
						id = placeholderID // until findServicePrincipal finds it
					}
					in.TargetUserID = id
					return nil
				}))},
			find: findServicePrincipal,
		},
		"list-keys": {
			paths: []string{"list-keys", "keys list"}, short: "List your API keys or those of a service principal",
			example: `  pt list-keys
  pt list-keys --service-user multi-llm-review`,
		},
		"revoke-key": {
			paths: []string{"revoke-key", "keys revoke"}, short: "Revoke an API key permanently",
			long: `Revoke one of your API keys, or with --service-user a key of a service principal,
permanently. Name the key by its ID or its label. All servers reject the key within a
minute. The command asks for confirmation on a terminal; without a terminal it requires
--yes.`,
			example: `  pt revoke-key "my laptop" --yes
  pt revoke-key "PT_AUTH_TOKEN of CI" --service-user multi-llm-review --reason "replaced" --yes`,
			custom: []customFlag{suggesting(suggestServicePrincipals, textFlag("", "service-user", "The service `principal` that owns the key (implies --service-owned)",
				func(in *identity.RevokeKeyIn, _ string) error {
					in.ServiceOwned = true
					return nil
				}))},
			find: findKey, change: revokeKeyChange,
		},
	}
}

// findServicePrincipal resolves the name of a service principal, because the service
// accepts only its ID here.
func findServicePrincipal(ctx context.Context, k *call, c *client.Client) error {
	in, ok := k.input().(*identity.IssueServiceKeyIn)
	if !ok || in.TargetUserID != placeholderID {
		return nil
	}
	u, err := callOperation(ctx, c, identity.GetUser, &identity.UserIn{UserID: op.UUID(k.customText("user"))})
	if err != nil {
		return err
	}
	in.TargetUserID = u.ID
	return nil
}

// findKey resolves the label of a key that is not revoked.
func findKey(ctx context.Context, k *call, c *client.Client) error {
	in, ok := k.input().(*identity.RevokeKeyIn)
	a := k.args[0]
	if !ok || (a.hint == "" && !k.inv.canAsk()) {
		return nil
	}
	owner := k.customText("service-user")
	if in.ServiceOwned && owner == "" {
		if a.hint != "" {
			return usagef("to name a key of a service principal by its label, also name the principal with --service-user")
		}
		return nil
	}
	list := &identity.ListKeysIn{ServiceUserID: op.UUID(owner)}
	var matches []identity.Key
	err := forEachItem(ctx, c, identity.ListKeys, list, func(key *identity.Key) error {
		if key.ID == in.KeyID || (a.hint != "" && key.RevokedAt == nil && strings.EqualFold(key.Label, a.hint)) {
			matches = append(matches, *key)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case len(matches) == 1:
		k.found = &matches[0]
		in.KeyID, a.hint, a.foundName = matches[0].ID, "", matches[0].Label
		return nil
	case a.hint == "":
		return nil // the service answers for an unknown ID
	case len(matches) == 0:
		f := fault.NotFound("key")
		f.Message = "No active key has the label " + a.hint + ". pt list-keys lists the keys and their labels."
		return f
	default:
		f := fault.Conflict("Several active keys have the label " + a.hint + ".")
		var all []any
		for _, key := range matches {
			all = append(all, map[string]any{"id": string(key.ID), "name": key.Label, "title": "issued " + formatTime(key.CreatedAt)})
		}
		f.Details = map[string]any{"candidates": all}
		return f
	}
}

// revokeKeyChange describes the revocation of a key.
func revokeKeyChange(_ context.Context, k *call, _ *client.Client) (*change, error) {
	key, ok := k.found.(*identity.Key)
	if !ok {
		return &change{question: "Revoke the key " + k.args[0].typed + " permanently?"}, nil
	}
	ch := &change{question: "Revoke the key " + key.Label + " of " + personAddress(key.OwnerUser, key.Owner) + " permanently?", effect: "Programs that use the key lose access. It was never used."}
	if key.LastUsedAt != nil {
		ch.effect = "Programs that use the key lose access. It was last used at " + formatTime(*key.LastUsedAt) + "."
	}
	return ch, nil
}
