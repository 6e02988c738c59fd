package fault

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestFrom_HidesOtherErrors(t *testing.T) {
	t.Parallel()
	err := From(errors.New("password=hunter2"))
	if err.Code != CodeInternal || strings.Contains(err.Message, "hunter2") {
		t.Fatalf("From: got %q %q, want INTERNAL with a generic message", err.Code, err.Message)
	}
	if From(nil) != nil {
		t.Fatal("From(nil): want nil")
	}
	wrapped := fmt.Errorf("load: %w", NotFound("project"))
	if got := From(wrapped); got.Code != CodeNotFound {
		t.Fatalf("From of a wrapped fault: got %q, want NOT_FOUND", got.Code)
	}
}

func TestStatus_MapsCodesBothWays(t *testing.T) {
	t.Parallel()
	for _, s := range statuses() {
		if got := Status(s.code); got != s.status {
			t.Errorf("Status(%s) = %d, want %d", s.code, got, s.status)
		}
		// CONFLICT and DUPLICATE_TASK share a status, and so do INTERNAL and OUTCOME_UNKNOWN; the envelope distinguishes
		// them.
		if back := FromStatus(s.status); back != s.code && s.code != CodeDuplicateTask && s.code != CodeOutcomeUnknown {
			t.Errorf("FromStatus(%d) = %s, want %s", s.status, back, s.code)
		}
	}
	if Status("NONSENSE") != http.StatusInternalServerError {
		t.Error("Status of an unknown code: want 500")
	}
	if FromStatus(http.StatusBadGateway) != CodeUnavailable || FromStatus(http.StatusTeapot) != CodeValidation {
		t.Error("FromStatus of an unlisted status: want the nearest code")
	}
}

func TestError_IsMatchesByCode(t *testing.T) {
	t.Parallel()
	if !errors.Is(Forbidden("task.update"), &Error{Code: CodeForbidden}) {
		t.Fatal("errors.Is with the same code: got false")
	}
	if errors.Is(Forbidden("task.update"), &Error{Code: CodeNotFound}) {
		t.Fatal("errors.Is with another code: got true")
	}
	if cause := errors.New("x"); !errors.Is(Internal(cause), cause) {
		t.Fatal("errors.Is with the cause: got false")
	}
}

func TestDenied_NamesThePermission(t *testing.T) {
	t.Parallel()
	reasons := []Reason{
		{Code: "a", Message: "The permission {permission} is missing.", Remedy: "Ask for {permission}."},
		{Code: "b", Message: "Never.", Remedy: "None."},
	}
	for _, c := range []struct {
		permission, message, remedy string
	}{
		{"task.update", "The permission task.update is missing.", "Ask for task.update."},
		{"", "The permission needed is missing.", "Ask for it."},
	} {
		f := Denied(c.permission, reasons)
		if f.Code != CodeForbidden || f.Message != c.message || f.Permission != c.permission || len(f.Reasons) != 2 ||
			f.Reasons[0] != (Reason{Code: "a", Message: c.message, Remedy: c.remedy}) || f.Reasons[1] != reasons[1] {
			t.Errorf("Denied(%q): got %+v", c.permission, f)
		}
	}
	if f := Denied("task.update", nil); f.Message != Forbidden("task.update").Message || f.Permission != "task.update" {
		t.Errorf("Denied without reasons: got %+v", f)
	}
	if f := Denied("", nil); f.Message != ForbiddenTenant().Message {
		t.Errorf("Denied without permission and reasons: got %+v", f)
	}
	if reasons[0].Remedy != "Ask for {permission}." {
		t.Error("Denied modified its argument")
	}
}
