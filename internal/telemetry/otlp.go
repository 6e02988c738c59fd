package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Collector is where the spans go: an OpenTelemetry collector that accepts OTLP over HTTP.
type Collector struct {
	// Endpoint is the complete address for traces.
	Endpoint string
	// Headers are sent with each request. They can contain a credential.
	Headers map[string]string
	// Timeout limits one request.
	Timeout time.Duration
	Gzip    bool
	// Certificates are the authorities that may have signed the certificate of the collector;
	// nil means those of the system.
	Certificates *x509.CertPool
}

// Limits of an export.
const (
	exportAttempts = 3
	longestWait    = 10 * time.Second
)

// otlpClient implements otlptrace.Client. It exists because the library's client for OTLP over
// HTTP links gRPC and its modules, none of which ptd needs.
type otlpClient struct {
	collector Collector
	http      *http.Client
	// wait is the time before the second attempt.
	wait time.Duration
}

func newOTLPClient(c Collector) *otlpClient {
	return &otlpClient{collector: c, wait: time.Second, http: &http.Client{
		Timeout: c.Timeout,
		Transport: &http.Transport{
			Proxy:           http.ProxyFromEnvironment,
			TLSClientConfig: &tls.Config{RootCAs: c.Certificates, MinVersion: tls.VersionTLS12},
			IdleConnTimeout: time.Minute, TLSHandshakeTimeout: c.Timeout, ForceAttemptHTTP2: true,
		},
		// The headers can contain a credential, which no other host may get.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Start implements otlptrace.Client.
func (c *otlpClient) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (c *otlpClient) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces implements otlptrace.Client. It repeats a request that the collector could not
// handle at the time.
func (c *otlpClient) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// TracesData has the same encoding as the request message of the collector's service.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return fmt.Errorf("telemetry: encode spans: %w", err)
	}
	if c.collector.Gzip {
		if body, err = compress(body); err != nil {
			return fmt.Errorf("telemetry: compress spans: %w", err)
		}
	}
	wait := c.wait
	for attempt := 1; ; attempt++ {
		status, retryAfter, err := c.post(ctx, body)
		switch {
		case err == nil && status/100 == 2:
			return nil
		case err == nil:
			err = fmt.Errorf("telemetry: the collector answered with the status %d", status)
		}
		if attempt == exportAttempts || (status != 0 && !isTemporary(status)) {
			return err
		}
		select {
		case <-time.After(min(max(wait, retryAfter), longestWait)):
			wait *= 2
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}

func (c *otlpClient) post(ctx context.Context, body []byte) (status int, retryAfter time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.collector.Endpoint, bytes.NewReader(body))
	if err != nil {
		return 0, 0, errors.New("telemetry: the address of the collector is invalid")
	}
	for name, value := range c.collector.Headers {
		request.Header.Set(name, value)
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	if c.collector.Gzip {
		request.Header.Set("Content-Encoding", "gzip")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return 0, 0, fmt.Errorf("telemetry: send spans: %w", err)
	}
	defer response.Body.Close()
	// Read the body, so that the connection can be used again.
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10))
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil {
		seconds = 0
	}
	return response.StatusCode, time.Duration(seconds) * time.Second, nil
}

// isTemporary reports whether OTLP allows to repeat a request that got this status.
func isTemporary(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	default:
		return false
	}
}

func compress(body []byte) ([]byte, error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
