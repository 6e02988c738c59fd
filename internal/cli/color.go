package cli

import (
	"parapet/internal/cli/markdown"
	"parapet/internal/contract/tracker"
	"parapet/internal/op"
)

// valueColors are the colors of enum values on a terminal: red for what needs attention
// first, bold for what is in progress, green for what is well, faint for what is over.
var valueColors = map[string]markdown.Color{
	"URGENT": markdown.Strong, "CRITICAL": markdown.Strong, "HIGH": markdown.Red, "LOW": markdown.Faint,
	"IN_PROGRESS": markdown.Bold, "in-progress": markdown.Bold, "RUNNING": markdown.Bold, "SUBMITTED": markdown.Bold,
	"REVIEW": markdown.Purple, "UNDER_REVIEW": markdown.Purple, "HELD": markdown.Purple, "HOLD": markdown.Purple, "ON_HOLD": markdown.Purple,
	"open": markdown.Purple, "PENDING": markdown.Purple, "REOPENED": markdown.Purple,
	"DONE": markdown.Green, "ACTIVE": markdown.Green, "ACCEPTED": markdown.Green, "PASSED": markdown.Green, "PASS": markdown.Green, "VERIFIED": markdown.Green,
	"SUCCEEDED": markdown.Green, "RESOLVED": markdown.Green, "COMPLETED": markdown.Green, "completed": markdown.Green, "answered": markdown.Green,
	"FAILED": markdown.Red, "FAIL": markdown.Red, "REJECTED": markdown.Red, "SUSPENDED": markdown.Red, "ALTERED": markdown.Red,
	"CANCELLED": markdown.Faint, "cancelled": markdown.Faint, "CLOSED": markdown.Faint, "EXPIRED": markdown.Faint, "REVOKED": markdown.Faint,
	"DELETED": markdown.Faint, "REMOVED": markdown.Faint,
}

// coloredMembers are the members whose values have a color. The color of a status that a
// project defines is that of its category.
var coloredMembers = map[string]bool{
	"status": true, "statusCategory": true, "priority": true, "severity": true, "state": true, "vote": true, "verificationStatus": true,
	"subjectStatus": true, "membershipStatus": true, "category": true,
}

// color returns the color of a member on a terminal.
func (r record) color(d *markdown.Doc, name string) markdown.Color {
	switch {
	case name == "dueDate" && r.isOverdue(d):
		return markdown.Red
	case !coloredMembers[name]:
		return markdown.Plain
	case name == "status":
		for _, category := range []string{"statusCategory", "category"} {
			if v, ok := r.member(category); ok {
				return valueColors[v.String()]
			}
		}
	}
	return valueColors[r.text(d, name, false)]
}

// isOverdue reports whether the due date of an open task has passed.
func (r record) isOverdue(d *markdown.Doc) bool {
	v, _ := r.member("dueDate")
	due, ok := v.Interface().(op.Date)
	if category, has := r.member("statusCategory"); has && (category.String() == tracker.CategoryDone || category.String() == tracker.CategoryCancelled) {
		return false
	}
	return ok && due != "" && d.IsPast(string(due))
}
