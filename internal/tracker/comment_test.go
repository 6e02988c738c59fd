package tracker_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

func joinBodies(page *op.Page[contract.Comment]) string {
	var all []string
	for _, c := range page.Items {
		all = append(all, c.Body)
	}
	return strings.Join(all, " ")
}

func TestComment_CreateListUpdateDelete(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	task, issue := w.createTask(p, "Land"), w.createIssue(p, "Leak")
	member, colleague := w.addPerson(person{roles: []string{"Member"}}), w.addPerson(person{roles: []string{"Member"}})
	for _, target := range []fields{{"taskId": task.ID}, {"issueId": issue.ID}} {
		one := do[contract.Comment](w, member, "create-comment", merge(fields{"body": " one "}, target))
		two := do[contract.Comment](w, colleague, "create-comment", merge(fields{"body": "two"}, target))
		if one.Body != "one" || one.AuthorID != member.id || one.ProjectID != p.ID || one.Edited || !one.CreatedAt.Equal(one.UpdatedAt) {
			t.Errorf("created comment: got %+v, want the body without spaces, the author and the project, not edited", one)
		}
		if (one.TaskID == task.ID) == (one.IssueID == issue.ID) {
			t.Errorf("target: got task %q and issue %q, want %v", one.TaskID, one.IssueID, target)
		}
		w.wantAuditAndEvents(1, "comment.created", contract.EventCommentCreated, one.ID)
		if got := joinBodies(do[op.Page[contract.Comment]](w, member, "list-comments", target)); got != "one two" {
			t.Errorf("%v: got comments %q, want \"one two\"", target, got)
		}
		changed := do[contract.Comment](w, member, "update-comment", fields{"commentId": one.ID, "body": "uno"})
		if changed.Body != "uno" || !changed.Edited {
			t.Errorf("updated comment: got %+v, want the body uno, edited", changed)
		}
		do[contract.Comment](w, member, "update-comment", fields{"commentId": one.ID, "body": " uno "})
		w.wantAuditAndEvents(1, "comment.updated", contract.EventCommentUpdated, one.ID)
		// Only the author can change a comment, not even a user who can delete all.
		for _, who := range []*person{colleague, w.manager} {
			if f := w.wantError(fault.CodeForbidden, who, "update-comment", fields{"commentId": one.ID, "body": "x"}); f.Permission != "comment.update.own" {
				t.Errorf("got permission %q, want comment.update.own", f.Permission)
			}
		}
		if f := w.wantError(fault.CodeForbidden, member, "delete-comment", fields{"commentId": two.ID}); f.Permission != "comment.delete" {
			t.Errorf("got permission %q, want comment.delete", f.Permission)
		}
		do[op.None](w, member, "delete-comment", fields{"commentId": one.ID})
		w.wantAuditAndEvents(1, "comment.deleted", contract.EventCommentDeleted, one.ID)
		do[op.None](w, w.manager, "delete-comment", fields{"commentId": two.ID})
		w.wantError(fault.CodeNotFound, member, "delete-comment", fields{"commentId": one.ID})
		if got := do[op.Page[contract.Comment]](w, member, "list-comments", target); len(got.Items) != 0 || got.NextCursor != "" {
			t.Errorf("comments after their deletion: got %+v, want none", got)
		}
	}
	if n := w.count(`SELECT count(*) FROM audit.entries WHERE changes::text ~ '"(one|two|uno)"'`); n != 0 {
		t.Errorf("audit entries with the text of a comment: got %d, want 0", n)
	}
}

func TestComment_ValidationErrorNamesField(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	task, issue := w.createTask(p, "Land"), w.createIssue(p, "Leak")
	comment := do[contract.Comment](w, w.manager, "create-comment", fields{"taskId": task.ID, "body": "x"})
	for _, c := range []struct {
		operation, field string
		in               fields
	}{
		{"create-comment", "taskId", fields{"body": "x"}},
		{"create-comment", "issueId", fields{"taskId": task.ID, "issueId": issue.ID, "body": "x"}},
		{"create-comment", "taskId", fields{"taskId": "APO-1", "body": "x"}},
		{"create-comment", "body", fields{"taskId": task.ID}},
		{"create-comment", "body", fields{"taskId": task.ID, "body": " \n"}},
		{"create-comment", "body", fields{"taskId": task.ID, "body": strings.Repeat("x", 20001)}},
		{"create-comment", "body", fields{"taskId": task.ID, "body": "x\x00"}},
		{"create-comment", "authorId", fields{"taskId": task.ID, "body": "x", "authorId": w.acme}},
		{"update-comment", "body", fields{"commentId": comment.ID, "body": nil}},
		{"update-comment", "body", fields{"commentId": comment.ID, "body": " "}},
		{"update-comment", "taskId", fields{"commentId": comment.ID, "body": "x", "taskId": task.ID}},
		{"update-comment", "commentId", fields{"commentId": "x", "body": "x"}},
		{"list-comments", "taskId", fields{}},
		{"list-comments", "issueId", fields{"taskId": task.ID, "issueId": issue.ID}},
		{"list-comments", "limit", fields{"taskId": task.ID, "limit": 0}},
		{"list-comments", "cursor", fields{"taskId": task.ID, "cursor": "x"}},
	} {
		if f := w.wantError(fault.CodeValidation, w.manager, c.operation, c.in); f.Field != c.field {
			t.Errorf("%s %.80s: got field %q, want %q", c.operation, fmt.Sprint(c.in), f.Field, c.field)
		}
	}
	// An issue's id is not accepted as a task's id, or the reverse.
	for _, in := range []fields{{"taskId": issue.ID}, {"issueId": task.ID}, {"taskId": w.acme}, {"issueId": w.acme}} {
		w.wantError(fault.CodeNotFound, w.manager, "list-comments", in)
		w.wantError(fault.CodeNotFound, w.manager, "create-comment", merge(fields{"body": "x"}, in))
	}
	if n := w.count(`SELECT count(*) FROM projects.comments`); n != 1 {
		t.Errorf("got %d comments, want 1", n)
	}
}

func TestListComments_PaginatesInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	task := w.createTask(w.createProject("Apollo"), "Land")
	w.setTime(time.Date(2027, 3, 1, 9, 0, 0, 0, time.UTC))
	var want []string
	for i := range 9 {
		if i == 5 {
			w.setTime(time.Date(2027, 3, 1, 10, 0, 0, 0, time.UTC))
		}
		c := do[contract.Comment](w, w.manager, "create-comment", fields{"taskId": task.ID, "body": fmt.Sprint(i)})
		want = append(want, string(c.ID))
	}
	newest := slices.Clone(want)
	slices.Reverse(newest)
	for sort, want := range map[string][]string{"": want, "oldest": want, "newest": newest} {
		for _, limit := range []int{1, 2, 9, 200} {
			var got []string
			in := fields{"taskId": task.ID, "limit": limit}
			if sort != "" {
				in["sort"] = sort
			}
			for {
				page := do[op.Page[contract.Comment]](w, w.manager, "list-comments", in)
				for _, c := range page.Items {
					got = append(got, string(c.ID))
				}
				if page.NextCursor == "" {
					break
				}
				in["cursor"] = page.NextCursor
			}
			if !slices.Equal(got, want) {
				t.Errorf("sort %q, limit %d: got %v, want %v", sort, limit, got, want)
			}
		}
	}
	first := do[op.Page[contract.Comment]](w, w.manager, "list-comments", fields{"taskId": task.ID, "limit": 1})
	if f := w.wantError(fault.CodeValidation, w.manager, "list-comments", fields{"taskId": task.ID, "sort": "newest", "cursor": first.NextCursor}); f.Field != "cursor" {
		t.Errorf("cursor of the other order: got field %q, want cursor", f.Field)
	}
}

// The first comment by a user other than the creator is the issue's first response.
func TestCreateComment_SetsFirstResponseOnce(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, 8)
	p := w.createProject("Apollo")
	created := time.Date(2027, 3, 1, 9, 0, 0, 0, time.UTC)
	w.setTime(created)
	issue := w.createIssue(p, "Leak")
	comment := func(who *person) {
		do[contract.Comment](w, who, "create-comment", fields{"issueId": issue.ID, "body": "x"})
	}
	get := func() *contract.Issue {
		return do[contract.Issue](w, w.manager, "get-issue", fields{"issue": issue.Key})
	}
	w.setTime(created.Add(time.Hour))
	comment(w.manager)
	if at := get().FirstRespondedAt; at != nil {
		t.Errorf("firstRespondedAt after the creator's comment: got %s, want none", at)
	}
	member := w.addPerson(person{roles: []string{"Member"}})
	w.setTime(created.Add(2 * time.Hour))
	comment(member)
	if at := get().FirstRespondedAt; at == nil || !at.Equal(created.Add(2*time.Hour)) {
		t.Errorf("firstRespondedAt: got %v, want the time of the first comment by another user", at)
	}
	w.wantAuditAndEvents(1, "issue.updated", contract.EventIssueUpdated, issue.ID)
	w.setTime(created.Add(3 * time.Hour))
	comment(member)
	if at := get().FirstRespondedAt; !at.Equal(created.Add(2 * time.Hour)) {
		t.Errorf("firstRespondedAt after a second comment: got %v, want it unchanged", at)
	}
	// Of concurrent comments, exactly one is the first response.
	issue = w.createIssue(p, "Smoke")
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if _, err := w.call(member, "create-comment", fields{"issueId": issue.ID, "body": "x"}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	w.wantAuditAndEvents(1, "issue.updated", contract.EventIssueUpdated, issue.ID)
	if n := w.count(`SELECT count(*) FROM audit.entries WHERE action = 'comment.created' AND (changes->>'firstResponse')::boolean AND changes->>'issueId' = $1`, string(issue.ID)); n != 1 {
		t.Errorf("got %d comments marked as first response, want 1", n)
	}
}

func TestComment_DeletedWithTaskIssueOrProject(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, other := w.createProject("Apollo"), w.createProject("Gemini")
	task, issue := w.createTask(p, "Land"), w.createIssue(p, "Leak")
	sub := w.createTask(p, "Sub", fields{"parentTaskId": task.ID})
	for _, target := range []fields{{"taskId": task.ID}, {"taskId": sub.ID}, {"issueId": issue.ID}, {"issueId": w.createIssue(p, "Noise").ID}, {"taskId": w.createTask(other, "Orbit").ID}} {
		do[contract.Comment](w, w.manager, "create-comment", merge(fields{"body": "x"}, target))
	}
	for i, step := range []struct {
		operation string
		in        fields
	}{
		{"delete-task", fields{"projectId": p.ID, "task": task.Key}},
		{"delete-issue", fields{"issue": issue.Key}},
		{"delete-project", fields{"projectId": p.ID}},
	} {
		do[op.None](w, w.manager, step.operation, step.in)
		if n, want := w.count(`SELECT count(*) FROM projects.comments`), 3-i; n != want {
			t.Errorf("after %s: got %d comments, want %d", step.operation, n, want)
		}
	}
}
