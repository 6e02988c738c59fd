package cli

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/client"
	"parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// answerForm is the form of pt answer: answer-decision with the answer as an argument and
// without the ID of the request.
func answerForm() form {
	return form{
		short: "Answer the open decision request of a task",
		long: `Answer the open decision request of a task: with the text of an option, a unique part of
it, or its number as get-task shows it. If the request has no options, any text is an
answer; with --free-text also if it has options. - reads the answer from standard input.

answer-decision answers a request by its ID.`,
		example: `  pt answer APOLLO-17 granite
  pt answer APOLLO-17 0
  pt answer APOLLO-17 --free-text "Neither: wait for the survey"`,
		pathFlags: "requestId", args: "answer", flags: "requestId=- chosenOptionIndex=-",
	}
}

func newAnswerCmd(inv *invocation) *cobra.Command {
	k, cmd := newCall(inv, tracker.AnswerDecision.Operation, answerForm(), "answer")
	isText := cmd.Flags().Bool("free-text", false, "the answer is free text, not an option")
	return inv.setRun(cmd, k.dataType(), func(ctx context.Context, args []string) error { return k.answer(ctx, args, *isText) })
}

// answer finds the open request of the task and answers it.
func (k *call) answer(ctx context.Context, args []string, isText bool) error {
	in, err := inputOf[tracker.AnswerDecisionIn](k)
	if err != nil {
		return err
	}
	in.RequestID = placeholderID // prepare validates the input before the request is known
	c, err := k.prepare(ctx, args)
	if err != nil {
		return err
	}
	request, err := findOpenRequest(ctx, c, in)
	if err != nil {
		return err
	}
	answer := *in.Answer
	in.RequestID = request.ID
	if !isText && len(request.Options) > 0 {
		index, err := chooseOption(request.Options, answer)
		if err != nil {
			return err
		}
		in.ChosenOptionIndex, in.Answer = &index, nil
		answer = request.Options[index]
	}
	out := new(tracker.DecisionRequest)
	if err := k.execute(ctx, c, out); err != nil {
		return err
	}
	// The service trims an answer.
	if strings.TrimSpace(out.Answer) != strings.TrimSpace(answer) {
		return fault.Conflict(fmt.Sprintf("The decision request of %s was resolved in the meantime (%s); your answer was not recorded.", out.TaskKey, out.Status))
	}
	return k.inv.show(ctx, view{data: out, markdown: func(d *markdown.Doc) { k.writePage(d, reflect.ValueOf(out)) }})
}

// findOpenRequest returns the open decision request of the task in the input.
func findOpenRequest(ctx context.Context, c *client.Client, in *tracker.AnswerDecisionIn) (*tracker.DecisionRequest, error) {
	page, err := callOperation(ctx, c, tracker.ListDecisionRequests, &tracker.ListDecisionRequestsIn{
		ProjectID: in.ProjectID, Task: in.Task, Status: tracker.DecisionOpen, Limit: maxPage,
	})
	if err != nil {
		return nil, err
	}
	switch len(page.Items) {
	case 0:
		return nil, &noRequestError{in.Task}
	case 1:
		return &page.Items[0], nil
	default:
		f := fault.Conflict(fmt.Sprintf("%s has %d open decision requests; answer one with answer-decision and --request-id.", in.Task, len(page.Items)))
		var list []any
		for _, r := range page.Items {
			list = append(list, map[string]any{"id": string(r.ID), "title": r.Question})
		}
		return nil, f.WithDetails(map[string]any{"candidates": list})
	}
}

// noRequestError is the error for a task without an open decision request.
type noRequestError struct{ task string }

func (e *noRequestError) Error() string { return e.task + " has no open decision request." }

// chooseOption returns the index of the option that the text identifies: its whole text in
// any case, its number, or a unique part of it.
func chooseOption(options []string, text string) (int, error) {
	text = strings.TrimSpace(text)
	for i, o := range options {
		if strings.EqualFold(strings.TrimSpace(o), text) {
			return i, nil
		}
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 0 && n < len(options) {
		return n, nil
	}
	var matches []int
	for i, o := range options {
		if text != "" && strings.Contains(strings.ToLower(o), strings.ToLower(text)) {
			matches = append(matches, i)
		}
	}
	if len(matches) == 1 {
		return matches[0], nil
	}
	problem := "is not an option; the options are"
	if len(matches) > 1 {
		problem = "matches several options"
	}
	var list []string
	for i, o := range options {
		if len(matches) == 0 || slices.Contains(matches, i) {
			list = append(list, fmt.Sprintf("%d %q", i, o))
		}
	}
	return 0, usagef("%q %s: %s; for another answer, use --free-text", text, problem, strings.Join(list, ", "))
}

// newCommentCmd returns pt comment: create-comment for tasks, with the text as an argument.
func newCommentCmd(inv *invocation) *cobra.Command {
	k, cmd := newCall(inv, tracker.CreateComment.Operation, form{
		short: "Comment on a task",
		long: `Comment on a task. - reads the text from standard input. On a terminal without a text,
pt opens $VISUAL or $EDITOR.

create-comment also comments on issues.`,
		example: `  pt comment APOLLO-17 "The draft is in the repository."
  pt comment APOLLO-17 - < notes.md`,
		args: "taskId body=text", flags: "issueId=-",
	}, "comment")
	return inv.setRun(cmd, k.dataType(), k.run)
}

// isText reports whether the argument is a long text, which - reads from standard input.
func (a *argument) isText() bool {
	return isLongText(a.field) || (a.field.Name == "answer" && a.field.Source == op.FromBody)
}
