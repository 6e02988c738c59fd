package tracker_test

import (
	"testing"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
)

// The assignee of a task is a field that its callers write. A permission to delete
// one's own tasks must not depend on it.
func TestDeleteTask_AssigneeCannotDelete(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project("Apollo")
	member := w.person(person{roles: []string{"Member"}})

	theirs := w.task(p, "Land")
	at := fields{"projectId": p.ID, "task": theirs.Key}
	do[contract.Task](w, member, "update-task", merge(fields{"assignee": member.id}, at))
	w.refused(fault.CodeForbidden, member, "delete-task", at)

	mine := do[contract.Task](w, member, "create-task", fields{"projectId": p.ID, "title": "Take off"})
	if !w.isAllowed(member, "delete-task", fields{"projectId": p.ID, "task": mine.Key}) {
		t.Error("the creator of a task cannot delete it")
	}
}

// A delegate holds task.update in full and task.delete for the delegator's own
// tasks: assigning a task to the delegator must not make it deletable.
func TestDeleteTask_DelegateCannotMakeTaskTheDelegatorsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project("Apollo")
	delegator, delegate := w.person(person{roles: []string{"Member"}}), w.person(person{})
	w.createDelegation(delegator, delegate, []string{"tasks.read", "task.update", "task.delete.own"})

	theirs := w.task(p, "Land")
	at := fields{"projectId": p.ID, "task": theirs.Key}
	do[contract.Task](w, delegate, "update-task", merge(fields{"assignee": delegator.id}, at))
	w.refused(fault.CodeForbidden, delegate, "delete-task", at)

	own := do[contract.Task](w, delegator, "create-task", fields{"projectId": p.ID, "title": "Take off"})
	if !w.isAllowed(delegate, "delete-task", fields{"projectId": p.ID, "task": own.Key}) {
		t.Error("the delegate cannot delete what the delegator created")
	}
}

// The assignee of a task ticks its criteria. Only who wrote a criterion deletes it.
func TestDeleteCriterion_AssigneeCannotDelete(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project("Apollo")
	member := w.person(person{roles: []string{"Member"}})
	task := w.task(p, "Land")
	of := fields{"projectId": p.ID, "taskId": task.ID, "text": "It stands upright"}
	criterion := do[contract.Criterion](w, w.manager, "create-criterion", of)
	at := fields{"projectId": p.ID, "criterionId": criterion.ID}

	w.refused(fault.CodeForbidden, member, "delete-criterion", at)
	do[contract.Task](w, member, "update-task", fields{"projectId": p.ID, "task": task.Key, "assignee": member.id})
	do[contract.Criterion](w, member, "update-criterion", merge(fields{"met": true}, at))
	w.refused(fault.CodeForbidden, member, "delete-criterion", at)

	mine := do[contract.Task](w, member, "create-task", fields{"projectId": p.ID, "title": "Take off"})
	mineCriterion := do[contract.Criterion](w, member, "create-criterion", merge(of, fields{"taskId": mine.ID}))
	if !w.isAllowed(member, "delete-criterion", fields{"projectId": p.ID, "criterionId": mineCriterion.ID}) {
		t.Error("the creator of a criterion cannot delete it")
	}
}
