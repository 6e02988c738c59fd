package cli

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"parapet/internal/cli/convert"
	"parapet/internal/cli/text"
	"parapet/internal/contract/tracker"
	"parapet/internal/op"
)

// standardStatuses are the statuses of an item that the service maps itself.
var standardStatuses = []string{"", "open", "in_progress", "hooked", "closed"}

// parseStatusMapping parses the values of --map-status, each FROM=TO. The keys of the
// result are in lower case.
func parseStatusMapping(values []string) (map[string]string, error) {
	mapping := map[string]string{}
	for _, v := range values {
		from, to, ok := strings.Cut(v, "=")
		from, to = strings.TrimSpace(from), strings.TrimSpace(to)
		if !ok || from == "" || to == "" {
			return nil, usagef("--map-status %q must have the form FROM=TO, such as pinned=TODO", v)
		}
		key := strings.ToLower(from)
		if previous, exists := mapping[key]; exists && previous != to {
			return nil, usagef("--map-status names two targets for %q: %s and %s", from, previous, to)
		}
		mapping[key] = to
	}
	return mapping, nil
}

// fileStatus is a status of the file.
type fileStatus struct {
	name, category string
	items          int
}

// mapStatuses replaces the statuses of the items by statuses of the project. A status for
// which it finds none stays: the service rejects its items.
func (im *importer) mapStatuses(ctx context.Context, records []convert.Record, mapping map[string]string, o *importOptions) error {
	found := unknownStatuses(records, mapping)
	if len(found) == 0 {
		return nil
	}
	p, err := callOperation(ctx, im.client, tracker.GetProject, &tracker.GetProjectIn{ProjectID: im.project})
	if err != nil {
		return err
	}
	m := &statusMapper{inv: im.inv, project: p, mapping: mapping, create: o.createStatuses, targets: map[string]string{}}
	if im.inv.InTerminal && im.inv.ErrTerminal && !o.readsStdin && !im.inv.wantsJSON() && im.inv.Getenv("CI") == "" {
		m.in = bufio.NewReader(im.inv.In)
	}
	for _, s := range found {
		if err := m.mapStatus(ctx, s); err != nil {
			return err
		}
	}
	if len(m.created) > 0 {
		statuses := p.CustomStatuses
		for _, s := range m.created {
			statuses = insertStatus(statuses, s)
		}
		in := &tracker.UpdateProjectIn{ProjectID: im.project, CustomStatuses: op.Some(statuses)}
		if _, err := callOperation(ctx, im.client, tracker.UpdateProject, in); err != nil {
			return err
		}
	}
	for i := range records {
		if to, ok := m.targets[strings.ToLower(records[i].Item.Status)]; ok && records[i].Problem == "" {
			records[i].Item.Status = to
		}
	}
	im.out.Statuses = m.mapped
	return nil
}

// unknownStatuses returns the statuses of the items that are in the mapping or that the
// service may not map itself, in the order of the file.
func unknownStatuses(records []convert.Record, mapping map[string]string) []*fileStatus {
	index := map[string]*fileStatus{}
	var found []*fileStatus
	for i := range records {
		name := records[i].Item.Status
		key := strings.ToLower(name)
		if _, isMapped := mapping[key]; records[i].Problem != "" || (!isMapped && slices.Contains(standardStatuses, name)) {
			continue
		}
		s := index[key]
		if s == nil {
			s = &fileStatus{name: name}
			index[key] = s
			found = append(found, s)
		}
		s.items++
		s.category = firstNonEmpty(s.category, records[i].Category)
	}
	return found
}

// statusMapper finds the status of the project for each status of the file.
type statusMapper struct {
	inv     *invocation
	project *tracker.Project
	mapping map[string]string
	create  bool
	// in reads answers from the terminal. It is nil if pt must not ask.
	in *bufio.Reader
	// targets are the statuses of the project by those of the file, in lower case.
	targets map[string]string
	created []tracker.Status
	mapped  []mappedStatus
}

func (m *statusMapper) mapStatus(ctx context.Context, s *fileStatus) error {
	to, isMapped := m.mapping[strings.ToLower(s.name)]
	if isMapped {
		target, ok := m.find(to)
		if !ok && !slices.Contains(standardStatuses, to) {
			return usagef("--map-status %s=%s: the project has no status %q; its statuses: %s", s.name, to, to, m.names())
		}
		m.use(s, firstNonEmpty(target, to), false)
		return nil
	}
	if target, ok := m.find(s.name); ok {
		m.use(s, target, false)
		return nil
	}
	guess := m.ofCategory(s.category)
	switch {
	case m.create:
		m.add(s)
		return nil
	case m.in != nil:
		return m.ask(ctx, s, guess)
	case guess != "":
		m.use(s, guess, false)
	case !m.inv.wantsJSON():
		m.inv.printNote("The project has no status %q (%s). Add --map-status %s=STATUS or --create-statuses; its statuses: %s",
			text.Line(s.name), countOf(s.items, "items"), text.Line(quoteArgs([]string{s.name})[0]), text.Line(m.names()))
	}
	return nil
}

// find returns the status of the project with the name, in any case and without regard to
// spaces and punctuation: In Progress is IN_PROGRESS.
func (m *statusMapper) find(name string) (string, bool) {
	for _, equal := range []func(a, b string) bool{
		strings.EqualFold,
		func(a, b string) bool { return lettersOf(a) != "" && lettersOf(a) == lettersOf(b) },
	} {
		for _, s := range slices.Concat(m.project.CustomStatuses, m.created) {
			if equal(s.Name, name) {
				return s.Name, true
			}
		}
	}
	return "", false
}

// lettersOf returns the letters and digits of a name in lower case.
func lettersOf(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// ofCategory returns the first status of the category, or "".
func (m *statusMapper) ofCategory(category string) string {
	for _, s := range m.project.CustomStatuses {
		// A status with the name of its category is the preferred one.
		if s.Category == category && s.Name == category {
			return s.Name
		}
	}
	for _, s := range m.project.CustomStatuses {
		if s.Category == category {
			return s.Name
		}
	}
	return ""
}

// use maps a status of the file to one of the project, and reports a change of its name.
func (m *statusMapper) use(s *fileStatus, target string, created bool) {
	m.targets[strings.ToLower(s.name)] = target
	if created || !strings.EqualFold(target, s.name) {
		m.mapped = append(m.mapped, mappedStatus{s.name, target, s.items, created})
	}
}

// add adds the status to the project.
func (m *statusMapper) add(s *fileStatus) {
	m.created = append(m.created, tracker.Status{Name: s.name, Category: firstNonEmpty(s.category, guessCategory(s.name))})
	m.use(s, s.name, true)
}

// ask asks for the status of the project on the terminal.
func (m *statusMapper) ask(ctx context.Context, s *fileStatus, guess string) error {
	guess = firstNonEmpty(guess, m.ofCategory(guessCategory(s.name)), m.ofCategory(tracker.CategoryTodo))
	m.inv.printNote("The project has no status %q (%s). Its statuses: %s", text.Line(s.name), countOf(s.items, "items"), text.Line(m.names()))
	for {
		fmt.Fprintf(m.inv.Err, "Status to use, or + to create it [%s]: ", text.Line(guess))
		answer, err := m.in.ReadString('\n')
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return errCancelled
		}
		switch answer = strings.TrimSpace(answer); answer {
		case "":
			m.use(s, guess, false)
			return nil
		case "+":
			m.add(s)
			return nil
		}
		if target, ok := m.find(answer); ok {
			m.use(s, target, false)
			return nil
		}
		m.inv.printNote("The project has no status %q.", text.Line(answer))
	}
}

func (m *statusMapper) names() string {
	var names []string
	for _, s := range slices.Concat(m.project.CustomStatuses, m.created) {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}

// insertStatus adds a status after the last one of its category, because the order of the
// statuses is that of the columns of a board.
func insertStatus(statuses []tracker.Status, s tracker.Status) []tracker.Status {
	at := len(statuses)
	for i := range statuses {
		if statuses[i].Category == s.Category {
			at = i + 1
		}
	}
	return slices.Insert(slices.Clone(statuses), at, s)
}

// guessCategory returns the category that the name of a status suggests. The default is
// the one for work that has not started.
func guessCategory(name string) string {
	name = lettersOf(name)
	for _, g := range []struct{ category, words string }{
		{tracker.CategoryCancelled, "cancel wont reject duplicate invalid notplanned abandon obsolete"},
		{tracker.CategoryReview, "review testing verif qa"},
		{tracker.CategoryDone, "done closed complete resolved released merged fixed shipped"},
		{tracker.CategoryInProgress, "progress doing active started development working"},
	} {
		for word := range strings.FieldsSeq(g.words) {
			if strings.Contains(name, word) {
				return g.category
			}
		}
	}
	return tracker.CategoryTodo
}
