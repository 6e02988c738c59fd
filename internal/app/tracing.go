package app

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"parapet/internal/telemetry"
)

// TracingConfig has the standard settings of OpenTelemetry that ptd reads itself. The SDK of
// OpenTelemetry reads the others from the environment of the process.
type TracingConfig struct {
	Exporter       string
	Endpoint       string
	TracesEndpoint string
	Protocol       string
	TracesProtocol string
	Disabled       bool
}

// isEnabled reports whether spans are exported.
func (t TracingConfig) isEnabled() bool {
	return !t.Disabled && t.Exporter != "none" && (t.Exporter == "otlp" || t.Endpoint != "" || t.TracesEndpoint != "")
}

// protocolHTTP is the only protocol that ptd supports.
const protocolHTTP = "http/protobuf"

// check returns an error if spans are exported by an unsupported protocol.
func (t TracingConfig) check() []*SettingError {
	name, protocol := "OTEL_EXPORTER_OTLP_PROTOCOL", t.Protocol
	if t.TracesProtocol != "" {
		name, protocol = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", t.TracesProtocol
	}
	if t.isEnabled() && protocol != "" && protocol != protocolHTTP {
		return []*SettingError{{name, "must be " + protocolHTTP + ", the only protocol that ptd supports"}}
	}
	return nil
}

// tracingSettings returns the standard settings that decide whether ptd traces.
func tracingSettings() []Setting {
	return []Setting{
		{Name: "OTEL_TRACES_EXPORTER", Doc: "`otlp` exports traces, `none` does not. If not set, traces are exported if an endpoint is set.", set: choiceSetting(func(c *Config) *string { return &c.Tracing.Exporter }, "otlp", "none")},
		{Name: "OTEL_EXPORTER_OTLP_ENDPOINT", Doc: "Address of the OpenTelemetry collector for OTLP over HTTP, for example `http://localhost:4318`. Traces go to the path `/v1/traces` below it.", set: endpointSetting(func(c *Config) *string { return &c.Tracing.Endpoint })},
		{Name: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", Doc: "Complete address for traces. It overrides `OTEL_EXPORTER_OTLP_ENDPOINT`.", set: endpointSetting(func(c *Config) *string { return &c.Tracing.TracesEndpoint })},
		{Name: "OTEL_EXPORTER_OTLP_PROTOCOL", Doc: "Protocol of the collector. `http/protobuf` is the only accepted value.", set: textSetting(func(c *Config) *string { return &c.Tracing.Protocol })},
		{Name: "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", Doc: "Protocol for traces. It overrides `OTEL_EXPORTER_OTLP_PROTOCOL`.", set: textSetting(func(c *Config) *string { return &c.Tracing.TracesProtocol })},
		{Name: "OTEL_SDK_DISABLED", Doc: "`true` turns traces off.", set: func(c *Config, v string) error { c.Tracing.Disabled = strings.EqualFold(v, "true"); return nil }},
	}
}

// endpointSetting parses an address. The error does not repeat it, because it can contain a
// password.
func endpointSetting(field func(*Config) *string) func(*Config, string) error {
	return func(c *Config, v string) error {
		u, err := url.Parse(v)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return errors.New("must be an address such as http://localhost:4318")
		}
		*field(c) = v
		return nil
	}
}

// newTracer returns the tracer of the process, or nil if tracing is off.
func newTracer(ctx context.Context, cfg Config, version string, log *slog.Logger) (*telemetry.Tracer, error) {
	if !cfg.Tracing.isEnabled() {
		return nil, nil //nolint:nilnil // nil is the tracer that is turned off
	}
	return telemetry.NewTracer(ctx, version, log)
}

// closeTimeout limits how long the process waits for the collector when it ends.
const closeTimeout = 5 * time.Second

func closeTracer(t *telemetry.Tracer, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := t.Close(ctx); err != nil {
		log.WarnContext(ctx, "the last spans could not be exported", slog.Any("error", err))
	}
}
