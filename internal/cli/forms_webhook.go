package cli

func webhookForms() map[string]form {
	return map[string]form{
		"list-webhooks": {paths: []string{"webhooks list"}},
		"get-webhook":   {paths: []string{"webhooks get"}},
		"create-webhook": {
			paths: []string{"webhooks create"}, flags: "eventTypes=events",
			long: `Create a webhook: an address that receives events as POST requests. You become its
owner. It receives the events that you may read at that time, up to --max-classification.

The secret, with which the receiver verifies the signatures, is shown only once.`,
			example: `  pt webhooks create --url https://ci.example.org/hook --events 'projects.task.*,projects.issue.created'
  pt webhooks create --url https://ci.example.org/hook --events 'projects.*' --max-classification INTERNAL`,
		},
		"update-webhook": {
			paths: []string{"webhooks update"}, flags: "eventTypes=events",
			example: `  pt webhooks update 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --url https://ci.example.org/hook
  pt webhooks update 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --enabled`,
		},
		"delete-webhook":        {paths: []string{"webhooks delete"}, question: "Delete the webhook %s and the log of its deliveries permanently?"},
		"rotate-webhook-secret": {paths: []string{"webhooks rotate-secret"}},
		"test-webhook":          {paths: []string{"webhooks test"}},
		"list-webhook-deliveries": {
			paths: []string{"webhooks deliveries"},
			example: `  pt webhooks deliveries 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f
  pt webhooks deliveries 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --status FAILED`,
		},
		"get-webhook-delivery":       {paths: []string{"webhooks delivery"}},
		"redeliver-webhook-delivery": {paths: []string{"webhooks redeliver"}},
		"redeliver-webhook": {
			paths: []string{"webhooks redeliver-failed"},
			example: `  pt webhooks redeliver-failed 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f
  pt webhooks redeliver-failed 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --from 2027-03-01T00:00:00Z`,
		},
	}
}
