package tracker_test

import (
	"testing"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
)

// Callers can set the assignee of a task, so task.delete.own must not apply to assignees.
func TestDeleteTask_AssigneeCannotDelete(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	member := w.addPerson(person{roles: []string{"Member"}})

	other := w.createTask(p, "Land")
	at := fields{"projectId": p.ID, "task": other.Key}
	do[contract.Task](w, member, "update-task", merge(fields{"assignee": member.id}, at))
	w.wantError(fault.CodeForbidden, member, "delete-task", at)

	own := do[contract.Task](w, member, "create-task", fields{"projectId": p.ID, "title": "Take off"})
	if !w.isAllowed(member, "delete-task", fields{"projectId": p.ID, "task": own.Key}) {
		t.Error("delete-task by the creator: got denied, want allowed")
	}
}

// The delegate has task.update for all tasks and task.delete.own of the delegator. Assigning a
// task to the delegator must not allow deleting it.
func TestDeleteTask_DelegateCannotMakeTaskTheDelegatorsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	delegator, delegate := w.addPerson(person{roles: []string{"Member"}}), w.addPerson(person{})
	w.createDelegation(delegator, delegate, []string{"tasks.read", "task.update", "task.delete.own"})

	other := w.createTask(p, "Land")
	at := fields{"projectId": p.ID, "task": other.Key}
	do[contract.Task](w, delegate, "update-task", merge(fields{"assignee": delegator.id}, at))
	w.wantError(fault.CodeForbidden, delegate, "delete-task", at)

	own := do[contract.Task](w, delegator, "create-task", fields{"projectId": p.ID, "title": "Take off"})
	if !w.isAllowed(delegate, "delete-task", fields{"projectId": p.ID, "task": own.Key}) {
		t.Error("delete-task by the delegate of the creator: got denied, want allowed")
	}
}

// The assignee of a task may mark its criteria as met. Only the creator of a criterion may
// delete it with the .own permission.
func TestDeleteCriterion_AssigneeCannotDelete(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	member := w.addPerson(person{roles: []string{"Member"}})
	task := w.createTask(p, "Land")
	in := fields{"projectId": p.ID, "taskId": task.ID, "text": "It stands upright"}
	criterion := do[contract.Criterion](w, w.manager, "create-criterion", in)
	at := fields{"projectId": p.ID, "criterionId": criterion.ID}

	w.wantError(fault.CodeForbidden, member, "delete-criterion", at)
	do[contract.Task](w, member, "update-task", fields{"projectId": p.ID, "task": task.Key, "assignee": member.id})
	do[contract.Criterion](w, member, "update-criterion", merge(fields{"met": true}, at))
	w.wantError(fault.CodeForbidden, member, "delete-criterion", at)

	own := do[contract.Task](w, member, "create-task", fields{"projectId": p.ID, "title": "Take off"})
	ownCriterion := do[contract.Criterion](w, member, "create-criterion", merge(in, fields{"taskId": own.ID}))
	if !w.isAllowed(member, "delete-criterion", fields{"projectId": p.ID, "criterionId": ownCriterion.ID}) {
		t.Error("delete-criterion by the creator: got denied, want allowed")
	}
}
