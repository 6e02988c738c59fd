package telemetry

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// NewTerminalHandler returns a log handler for people: each line begins with the time of day,
// the level and the message. Values that contain control characters are quoted, so a value
// cannot send commands to the terminal.
func NewTerminalHandler(out io.Writer, level slog.Leveler) slog.Handler {
	shared := &terminalOutput{out: out}
	return &terminalHandler{shared: shared, attributes: slog.NewTextHandler(&shared.line, &slog.HandlerOptions{Level: level, ReplaceAttr: omitPrefix})}
}

type terminalHandler struct {
	shared *terminalOutput
	// attributes writes the attributes of a record to the current line.
	attributes slog.Handler
}

// terminalOutput is shared by all handlers that were derived from one.
type terminalOutput struct {
	mu   sync.Mutex
	line bytes.Buffer
	out  io.Writer
}

// omitPrefix removes the attributes that the beginning of the line contains.
func omitPrefix(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
		return slog.Attr{}
	}
	return a
}

// Enabled implements slog.Handler.
func (h *terminalHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.attributes.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *terminalHandler) Handle(ctx context.Context, r slog.Record) error {
	h.shared.mu.Lock()
	defer h.shared.mu.Unlock()
	line := &h.shared.line
	line.Reset()
	line.WriteString(r.Time.Format("15:04:05.000 "))
	line.WriteString(r.Level.String())
	line.WriteString(strings.Repeat(" ", max(6-len(r.Level.String()), 1)))
	line.WriteString(printable(r.Message))
	line.WriteByte(' ')
	if err := h.attributes.Handle(ctx, r); err != nil {
		return err
	}
	_, err := h.shared.out.Write(line.Bytes())
	return err
}

// printable returns the text, quoted if it contains control characters.
func printable(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

// WithAttrs implements slog.Handler.
func (h *terminalHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &terminalHandler{shared: h.shared, attributes: h.attributes.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h *terminalHandler) WithGroup(name string) slog.Handler {
	return &terminalHandler{shared: h.shared, attributes: h.attributes.WithGroup(name)}
}

// InfoAsDebug returns a handler that logs records of level info at level debug. It is for a
// library whose information is too frequent for the log of an operator.
func InfoAsDebug(next slog.Handler) slog.Handler { return infoAsDebug{next} }

type infoAsDebug struct{ next slog.Handler }

func lowered(level slog.Level) slog.Level {
	if level == slog.LevelInfo {
		return slog.LevelDebug
	}
	return level
}

// Enabled implements slog.Handler.
func (h infoAsDebug) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, lowered(level))
}

// Handle implements slog.Handler.
func (h infoAsDebug) Handle(ctx context.Context, r slog.Record) error {
	r.Level = lowered(r.Level)
	return h.next.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h infoAsDebug) WithAttrs(attrs []slog.Attr) slog.Handler {
	return infoAsDebug{h.next.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h infoAsDebug) WithGroup(name string) slog.Handler {
	return infoAsDebug{h.next.WithGroup(name)}
}
