package telemetry

import (
	"bytes"
	"context"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestTerminalHandler_WritesOneReadableLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(NewTerminalHandler(&out, slog.LevelInfo)).With(slog.String("process", "one")).WithGroup("request")
	log.Info("request", slog.String("path", "/api/x\x1b[31m\n"), slog.Int("status", 200), slog.String("time", "kept"))
	log.Debug("not written")
	log.Warn("two\nlines")
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 2 {
		t.Fatalf("got %d lines, want 2:\n%s", len(lines), out.String())
	}
	if want := regexp.MustCompile(`^\d\d:\d\d:\d\d\.\d{3} INFO  request process=one request\.path="/api/x\\x1b\[31m\\n" request\.status=200 request\.time=kept$`); !want.MatchString(lines[0]) {
		t.Errorf("got %q, want a match of %s", lines[0], want)
	}
	if want := `WARN  "two\nlines" process=one`; !strings.HasSuffix(lines[1], want) {
		t.Errorf("got %q, want the suffix %q", lines[1], want)
	}
}

func TestInfoAsDebug_LowersOnlyInfo(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(InfoAsDebug(slog.NewTextHandler(&out, nil))).With(slog.Int("n", 1)).WithGroup("g")
	log.Info("counts")
	log.Warn("slow")
	if got := out.String(); strings.Contains(got, "counts") || !strings.Contains(got, "level=WARN msg=slow n=1") {
		t.Errorf("at level info: got %q, want only the warning", got)
	}
	out.Reset()
	slog.New(InfoAsDebug(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))).Info("counts")
	if got := out.String(); !strings.Contains(got, "level=DEBUG msg=counts") {
		t.Errorf("at level debug: got %q, want the record", got)
	}
}

func TestDecisionTime_SumsTheEvaluationsOfARequest(t *testing.T) {
	t.Parallel()
	ctx, r := NewContext(t.Context())
	child, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	AddDecisionTime(ctx, time.Millisecond)
	AddDecisionTime(child, 2*time.Millisecond)
	AddDecisionTime(t.Context(), time.Hour)
	if got := r.DecisionTime(); got != 3*time.Millisecond {
		t.Errorf("got %s, want 3ms", got)
	}
}
