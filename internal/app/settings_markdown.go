package app

import (
	"fmt"
	"strings"
)

// SettingsMarkdown returns the content of docs/settings.md.
func SettingsMarkdown() string {
	var b strings.Builder
	b.WriteString(`# Settings

<!-- Generated: do not edit. Run: go run ./cmd/ptd settings --markdown > docs/settings.md -->

` + "`ptd`" + ` reads its settings from environment variables. A flag overrides the variable with the same meaning.
An empty variable counts as not set. If a value is invalid, ` + "`ptd`" + ` does not start, prints one line that names the setting, and exits with code 64.
Never put the settings marked *secret* into a command line or a repository.

` + "`ptd dev`" + ` generates its own ` + "`DATABASE_URL`, `DIRECT_URL`, `API_KEY_JWT_SECRET` and `CRON_SECRET`" + `. Variables that are set override them.

` + "`pt`" + ` has its own settings: run ` + "`pt help environment`" + `.

| setting | default | meaning |
|---|---|---|
`)
	for _, s := range Settings() {
		value, doc := "–", s.Doc
		if s.Default != "" {
			value = "`" + s.Default + "`"
		}
		if s.Secret {
			doc = "*Secret.* " + doc
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", s.Name, value, doc)
	}
	b.WriteString(`
## Format of the signing secrets

` + "`ptd`" + ` decodes ` + "`API_KEY_JWT_SECRET` and `API_KEY_JWT_SECRET_PREVIOUS`" + ` as base64 if the value is canonical, padded, standard base64 of at least
32 bytes and contains a character that is not a hexadecimal digit. Otherwise it uses the bytes of the value as they are.
Create a secret with ` + "`openssl rand -base64 32`" + `.

[Rotate the signing secret](operators.md#rotate-secrets) describes how to replace it without invalidating tokens.

## Traces

` + "`ptd` reads the settings whose names begin with `OTEL_`" + ` as the specification of OpenTelemetry defines them. The table lists those that turn traces on.
The other standard settings also apply, for example ` + "`OTEL_TRACES_SAMPLER`, `OTEL_TRACES_SAMPLER_ARG`, `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`" + `.
[Traces](operators.md#traces) describes what a trace contains.
`)
	return b.String()
}
