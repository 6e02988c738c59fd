package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parapet/internal/cli/text"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// canPrompt reports whether pt may ask for missing values: all streams are terminals, the
// output is not JSON, and the environment is no CI job.
func (inv *invocation) canPrompt() bool {
	return inv.InTerminal && inv.OutTerminal && inv.ErrTerminal && !inv.wantsJSON() && inv.Getenv("CI") == ""
}

// askMissing asks for the required arguments and flags that the command line lacks.
func (k *call) askMissing(cmd *cobra.Command, args []string) error {
	if !k.inv.canPrompt() {
		return nil
	}
	required := k.args
	switch {
	case k.mayOmitProject(args):
		required = required[1:]
	case k.omitsLast(args):
		required = nil
	}
	for _, a := range required[min(len(args), len(required)):] {
		answer, err := k.inv.ask(cmd.Context(), a.name, a.field, k.answerCheck(a.field))
		if err != nil {
			return err
		}
		k.prompted = append(k.prompted, answer)
	}
	for _, f := range k.op.Fields {
		flag := cmd.Flags().Lookup(k.flagName(f))
		if flag == nil || flag.Changed || !isRequired(flag) {
			continue
		}
		answer, err := k.inv.ask(cmd.Context(), flag.Name, f, k.answerCheck(f))
		if err != nil {
			return err
		}
		if err := cmd.Flags().Set(flag.Name, answer); err != nil {
			return usage(flagError(cmd, err))
		}
	}
	return nil
}

// answerCheck returns a function that checks an answer for a field without a request.
func (k *call) answerCheck(f op.Field) func(answer string) error {
	return func(answer string) error {
		in := reflect.New(k.op.In).Elem()
		var value pflag.Value = newArgument(f, in)
		if hintKindOf(f) == hintNone {
			value = k.inv.newFieldValue(f, in.Field(f.Index))
		}
		if err := value.Set(answer); err != nil {
			return err
		}
		return f.Validate(in.Field(f.Index))
	}
}

// maxAnswers is the number of answers to a question, of which at least one must be valid.
const maxAnswers = 3

// ask asks for the value of a field: a long text in an editor, a value from a list by its
// name or number, anything else as a line. After an answer that is empty or that check
// rejects, it prints the reason and asks again.
func (inv *invocation) ask(ctx context.Context, name string, f op.Field, check func(answer string) error) (string, error) {
	if isLongText(f) {
		return inv.edit(ctx, name, "")
	}
	for i, e := range f.Enum {
		fmt.Fprintf(inv.Err, "  %d) %s\n", i+1, text.Line(e))
	}
	label := strings.ReplaceAll(name, "-", " ")
	var problem error
	for range maxAnswers {
		fmt.Fprintf(inv.Err, "%s%s: ", strings.ToUpper(label[:1]), label[1:])
		answer, err := inv.askLine(ctx)
		if err != nil {
			return "", err
		}
		if n, err := strconv.Atoi(answer); err == nil && n >= 1 && n <= len(f.Enum) {
			answer = f.Enum[n-1]
		}
		if problem = checkAnswer(label, answer, check); problem == nil {
			return answer, nil
		}
		fmt.Fprintf(inv.Err, "%s\n", text.Line(problem.Error()))
	}
	return "", usagef("no valid answer in %d attempts: %w", maxAnswers, problem)
}

// checkAnswer returns what is wrong with an answer, in a sentence for the user.
func checkAnswer(label, answer string, check func(answer string) error) error {
	if answer == "" {
		return errors.New("the " + label + " must not be empty")
	}
	err := check(answer)
	if f := (*fault.Error)(nil); err == nil || errors.As(err, &f) {
		return err
	}
	return invalidValue(label, answer, err)
}

// askLine reads a line of the terminal. The end of the input (Ctrl-D) cancels the command.
func (inv *invocation) askLine(ctx context.Context) (string, error) {
	if inv.lines == nil {
		inv.lines = bufio.NewReader(inv.In)
	}
	line, err := inv.lines.ReadString('\n')
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, io.EOF):
		fmt.Fprintln(inv.Err)
		return "", errCancelled
	case err != nil:
		return "", err
	}
	return strings.TrimSpace(line), nil
}
