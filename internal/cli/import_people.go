package cli

import (
	"context"
	"strings"

	"parapet/internal/cli/convert"
	"parapet/internal/contract/identity"
	"parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// matchPeople looks up the assignees of the records, and completes the descriptions with
// those who cannot be assigned. A task has one assignee: the first one that is known.
func (im *importer) matchPeople(ctx context.Context, records []convert.Record) error {
	hasPeople := false
	for i := range records {
		hasPeople = hasPeople || len(records[i].Assignees) > 0
	}
	if hasPeople {
		var err error
		if im.people, err = im.listPeople(ctx); err != nil {
			return err
		}
	}
	for i := range records {
		r := &records[i]
		var unassigned []convert.Person
		assigned := -1
		for n, p := range r.Assignees {
			if im.idOf(p) != "" && assigned < 0 {
				assigned = n
				continue
			}
			unassigned = append(unassigned, p)
			if r.Problem == "" {
				im.addUnknownPerson(p)
			}
		}
		r.Complete(unassigned)
	}
	return nil
}

// listPeople returns the people of the organisation by their address and their name, in
// lower case. A name that two people have is missing. Since people choose both themselves,
// so are unverified addresses, and names that look like an address.
func (im *importer) listPeople(ctx context.Context) (map[string]op.UUID, error) {
	people, ambiguous := map[string]op.UUID{}, map[string]bool{}
	add := func(name string, id op.UUID) {
		name = strings.ToLower(name)
		if other, exists := people[name]; exists && other != id {
			ambiguous[name] = true
		}
		people[name] = id
	}
	err := forEachItem(ctx, im.client, identity.ListPeople, &identity.ListPeopleIn{}, func(p *identity.Colleague) error {
		if p.EmailVerified {
			add(p.Email, p.ID)
		}
		if !strings.Contains(p.DisplayName, "@") {
			add(p.DisplayName, p.ID)
		}
		return nil
	})
	for name := range ambiguous {
		delete(people, name)
	}
	delete(people, "")
	return people, err
}

// idOf returns the ID of a person, or "" if the person is unknown.
func (im *importer) idOf(p convert.Person) op.UUID {
	if id, ok := im.people[strings.ToLower(p.Email)]; ok {
		return id
	}
	return im.people[strings.ToLower(p.Name)]
}

func (im *importer) addUnknownPerson(p convert.Person) {
	for i := range im.out.People {
		if im.out.People[i].Name == p.Text() {
			im.out.People[i].Items++
			return
		}
	}
	im.out.People = append(im.out.People, unknownPerson{p.Text(), 1})
}

// assign assigns a new task to the first known assignee of its record. Later imports do
// not change the assignee, because a user may have done so since.
func (im *importer) assign(ctx context.Context, r *convert.Record, task op.UUID) error {
	for _, p := range r.Assignees {
		id := im.idOf(p)
		if id == "" {
			continue
		}
		in := &tracker.UpdateTaskIn{ProjectID: im.project, Task: string(task), Assignee: op.Some(id)}
		_, err := callOperation(ctx, im.client, tracker.UpdateTask, in)
		switch {
		case err == nil:
			im.out.Assigned++
		case fault.HasCode(err, fault.CodeForbidden), fault.HasCode(err, fault.CodeValidation), fault.HasCode(err, fault.CodeConflict):
			// For example, the person has no clearance for the project.
			im.addUnknownPerson(p)
		default:
			return err
		}
		return nil
	}
	return nil
}
