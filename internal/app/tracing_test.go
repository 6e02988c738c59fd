package app

import (
	"errors"
	"testing"
)

func TestReadConfig_StandardSettingsTurnTracesOn(t *testing.T) {
	t.Parallel()
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for _, c := range []struct {
		note        string
		environment map[string]string
		enabled     bool
		invalid     string
	}{
		{"nothing", nil, false, ""},
		{"endpoint", map[string]string{endpoint: "http://localhost:4318"}, true, ""},
		{"endpoint for traces", map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://collector.example/v1/traces"}, true, ""},
		{"exporter", map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, true, ""},
		{"no exporter", map[string]string{"OTEL_TRACES_EXPORTER": "none", endpoint: "http://localhost:4318"}, false, ""},
		{"SDK disabled", map[string]string{"OTEL_SDK_DISABLED": "True", endpoint: "http://localhost:4318"}, false, ""},
		{"protocol", map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf", endpoint: "http://localhost:4318"}, true, ""},
		{"other exporter", map[string]string{"OTEL_TRACES_EXPORTER": "console"}, false, "OTEL_TRACES_EXPORTER"},
		{"other protocol", map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", endpoint: "http://localhost:4317"}, true, "OTEL_EXPORTER_OTLP_PROTOCOL"},
		{"other protocol for traces", map[string]string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc", endpoint: "http://localhost:4317"}, true, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"},
		{"other protocol without traces", map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false, ""},
		{"endpoint without scheme", map[string]string{endpoint: "localhost:4317"}, false, endpoint},
	} {
		cfg, err := ReadConfig(func(name string) string { return c.environment[name] })
		var setting *SettingError
		if got := errors.As(err, &setting); got != (c.invalid != "") || (got && setting.Name != c.invalid) {
			t.Errorf("%s: got the error %v, want one for %q", c.note, err, c.invalid)
		}
		if cfg.Tracing.isEnabled() != c.enabled {
			t.Errorf("%s: got traces %t, want %t", c.note, cfg.Tracing.isEnabled(), c.enabled)
		}
	}
}
