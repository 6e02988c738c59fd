package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// progressInterval is the time between two progress notifications of a call.
const progressInterval = 5 * time.Second

// reportProgress sends progress notifications until the returned function is called, if the
// client asks for them with a progress token. The service does not report how much of a call
// is done, so the progress is the time in seconds; the total is the maximum duration of a
// call that waits, and unknown for others.
func (t *tool) reportProgress(ctx context.Context, req *sdk.CallToolRequest, arguments json.RawMessage) (stop func()) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	limit := t.waitLimit(arguments)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(t.progressInterval)
		defer ticker.Stop()
		for elapsed := t.progressInterval; ; elapsed += t.progressInterval {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			p := &sdk.ProgressNotificationParams{ProgressToken: token, Progress: elapsed.Seconds(), Message: fmt.Sprintf("%s has been running for %.0f seconds", t.definition.Name, elapsed.Seconds())}
			if elapsed <= limit {
				p.Total = limit.Seconds()
			}
			if req.Session.NotifyProgress(ctx, p) != nil {
				return // the client has disconnected
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
