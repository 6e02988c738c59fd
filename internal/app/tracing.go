package app

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"parapet/internal/telemetry"
)

// TracingConfig has the standard settings of OpenTelemetry that ptd reads itself. The SDK of
// OpenTelemetry reads the others from the environment of the process.
type TracingConfig struct {
	Exporter  string
	Protocol  string
	Disabled  bool
	Collector telemetry.Collector
}

// isEnabled reports whether spans are exported.
func (t TracingConfig) isEnabled() bool {
	return !t.Disabled && t.Exporter != "none" && (t.Exporter == "otlp" || t.Collector.Endpoint != "")
}

const (
	// protocolHTTP is the only protocol that ptd supports.
	protocolHTTP = "http/protobuf"
	// defaultCollector is the endpoint that the specification of OTLP names.
	defaultCollector = "http://localhost:4318/v1/traces"
)

// check returns an error if spans are exported by an unsupported protocol.
func (t TracingConfig) check() []*SettingError {
	if t.isEnabled() && t.Protocol != "" && t.Protocol != protocolHTTP {
		return []*SettingError{{"OTEL_EXPORTER_OTLP_PROTOCOL", "must be " + protocolHTTP + ", the only protocol that ptd supports"}}
	}
	return nil
}

// tracingSettings returns the standard settings of the exporter. A setting for traces follows
// the one for all signals and overrides it.
func tracingSettings() []Setting {
	settings := []Setting{
		{Name: "OTEL_TRACES_EXPORTER", Doc: "`otlp` exports traces, `none` does not. If not set, traces are exported if an endpoint is set.", set: choiceSetting(func(c *Config) *string { return &c.Tracing.Exporter }, "otlp", "none")},
		{Name: "OTEL_SDK_DISABLED", Doc: "`true` turns traces off.", set: func(c *Config, v string) error { c.Tracing.Disabled = strings.EqualFold(v, "true"); return nil }},
		{Name: "OTEL_EXPORTER_OTLP_ENDPOINT", Doc: "Address of the OpenTelemetry collector for OTLP over HTTP, for example `http://localhost:4318`. Traces go to the path `/v1/traces` below it.", set: func(c *Config, v string) error {
			u, err := parseEndpoint(v)
			if err == nil {
				c.Tracing.Collector.Endpoint = u.JoinPath("v1", "traces").String()
			}
			return err
		}},
		{Name: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", Doc: "Complete address for traces. It overrides `OTEL_EXPORTER_OTLP_ENDPOINT`.", set: func(c *Config, v string) error {
			_, err := parseEndpoint(v)
			c.Tracing.Collector.Endpoint = v
			return err
		}},
	}
	for _, s := range []Setting{
		{Name: "PROTOCOL", Doc: "Protocol of the collector. `http/protobuf` is the only accepted value.", set: textSetting(func(c *Config) *string { return &c.Tracing.Protocol })},
		{Name: "HEADERS", Secret: true, Doc: "Headers of each request to the collector: `name=value`, separated by commas, with the values encoded as in a URL.", set: setCollectorHeaders},
		{Name: "TIMEOUT", Default: "10000", Doc: "Time limit of a request to the collector, in milliseconds.", set: millisSetting(func(c *Config) *time.Duration { return &c.Tracing.Collector.Timeout })},
		{Name: "COMPRESSION", Doc: "`gzip` compresses the requests to the collector, `none` does not.", set: func(c *Config, v string) error {
			c.Tracing.Collector.Gzip = v == "gzip"
			if v != "gzip" && v != "none" {
				return errors.New("must be gzip or none")
			}
			return nil
		}},
		{Name: "CERTIFICATE", Doc: "File with the certificates (PEM) of the authorities that may have signed the certificate of the collector. Those of the system if not set.", set: setCollectorCertificate},
	} {
		general, traces := s, s
		general.Name, traces.Name = "OTEL_EXPORTER_OTLP_"+s.Name, "OTEL_EXPORTER_OTLP_TRACES_"+s.Name
		traces.Default, traces.Doc = "", "The same for traces. It overrides `"+general.Name+"`."
		settings = append(settings, general, traces)
	}
	return settings
}

// parseEndpoint parses an address. The error does not repeat it, because it can contain a
// password.
func parseEndpoint(v string) (*url.URL, error) {
	u, err := url.Parse(v)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, errors.New("must be an address such as http://localhost:4318")
	}
	return u, nil
}

func setCollectorHeaders(c *Config, v string) error {
	headers := map[string]string{}
	for _, item := range SplitList(v) {
		name, value, ok := strings.Cut(item, "=")
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		name = strings.TrimSpace(name)
		if !ok || err != nil || name == "" || strings.ContainsAny(name, " \t:") || strings.ContainsAny(decoded, "\r\n") {
			return errors.New("must be name=value pairs, separated by commas")
		}
		headers[name] = decoded
	}
	c.Tracing.Collector.Headers = headers
	return nil
}

func setCollectorCertificate(c *Config, v string) error {
	text, err := os.ReadFile(v) //nolint:gosec // G304: the operator names the file
	if err != nil {
		return errors.New("must be a file that ptd can read")
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return fmt.Errorf("%s contains no certificate in the format PEM", v)
	}
	c.Tracing.Collector.Certificates = pool
	return nil
}

// newTracer returns the tracer of the process, or nil if tracing is off.
func newTracer(ctx context.Context, cfg Config, version string, log *slog.Logger) (*telemetry.Tracer, error) {
	if !cfg.Tracing.isEnabled() {
		return nil, nil //nolint:nilnil // nil is the tracer that is turned off
	}
	collector := cfg.Tracing.Collector
	if collector.Endpoint == "" {
		collector.Endpoint = defaultCollector
	}
	return telemetry.NewTracer(ctx, collector, version, log)
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
