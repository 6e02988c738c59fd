package tracker_test

import (
	"fmt"
	"sync"
	"testing"

	contract "parapet/internal/contract/tracker"
)

func TestCreateTask_ConcurrentCreatorsGetConsecutiveNumbers(t *testing.T) {
	t.Parallel()
	const creators = 64
	w := newWorldOf(t, 16)
	p := w.createProject("Apollo", fields{"prefix": "APO"})
	tasks := make([]*contract.Task, creators)
	errs := make([]error, creators)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range creators {
		all.Go(func() {
			<-start
			out, err := w.call(w.manager, "create-task", fields{"projectId": p.ID, "title": fmt.Sprint("Task ", i), "allowDuplicate": true})
			tasks[i], _ = out.(*contract.Task)
			errs[i] = err
		})
	}
	close(start)
	all.Wait()
	seen := map[string]bool{}
	for i, task := range tasks {
		if errs[i] != nil {
			t.Errorf("create-task of creator %d: got %v, want no error", i, errs[i])
			continue
		}
		seen[task.Key] = true
	}
	for n := 1; n <= creators; n++ {
		if !seen[fmt.Sprintf("APO-%d", n)] {
			t.Errorf("keys of %d concurrent creators: got no APO-%d, want consecutive numbers", creators, n)
		}
	}
	if n := w.count(`SELECT count(*) FROM audit.entries WHERE action = 'task.created'`); n != creators {
		t.Errorf("got %d audit entries, want 64", n)
	}
}

// Runs the deletion of a project concurrently with changes in it: no call may deadlock. Each
// succeeds or reports that the project does not exist.
func TestDeleteProject_ConcurrentUpdatesLeaveNoTasks(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, 16)
	p := w.createProject("Apollo", fields{"prefix": "APO"})
	task := w.createTask(p, "Land")
	var all sync.WaitGroup
	errs := make(chan error, 64)
	for i := range 30 {
		all.Go(func() {
			var err error
			switch {
			case i == 15:
				_, err = w.call(w.manager, "delete-project", fields{"projectId": p.ID})
			case i%3 == 0:
				_, err = w.call(w.manager, "create-task", fields{"projectId": p.ID, "title": "x", "parentTaskId": task.ID})
			case i%3 == 1:
				_, err = w.call(w.manager, "update-task", fields{"projectId": p.ID, "task": task.Key, "progress": i})
			default:
				_, err = w.call(w.manager, "import-items", fields{"projectId": p.ID, "items": []fields{{"id": "a", "title": fmt.Sprint(i)}}})
			}
			errs <- err
		})
	}
	all.Wait()
	close(errs)
	for err := range errs {
		if err != nil && !isNotFoundOrInvalid(err) {
			t.Errorf("concurrent update: got %v, want no error, NOT_FOUND or VALIDATION", err)
		}
	}
	if n := w.count(`SELECT count(*) FROM projects.tasks`); n != 0 {
		t.Errorf("%d tasks left, want 0", n)
	}
}
