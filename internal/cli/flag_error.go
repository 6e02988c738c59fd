package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagError returns the message for a flag that pflag rejects: an unknown flag with the most
// similar one, or a wrong value with what the flag accepts.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var noValue *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case cmd.HasSubCommands() && len(cmd.Flags().Args()) > 0:
		// The flag belongs to a command that does not exist.
		return noSuchCommand(cmd, cmd.Flags().Args())
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "" && cmd.Name() == "search":
		word := "-" + unknown.GetSpecifiedShortnames()
		return fmt.Errorf("unknown flag %s; to search for tasks without a word, write -- first: pt search -- %s", word, word)
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return fmt.Errorf("unknown flag -%s", unknown.GetSpecifiedName())
	case errors.As(err, &unknown):
		name := nearest(unknown.GetSpecifiedName(), flagNamesOf(cmd))
		if name != "" {
			name = "--" + name
		}
		return fmt.Errorf("unknown flag --%s%s", unknown.GetSpecifiedName(), didYouMean(name))
	case errors.As(err, &noValue):
		return fmt.Errorf("--%s needs a value", noValue.GetFlag().Name)
	case errors.As(err, &invalid):
		return invalidValue("--"+invalid.GetFlag().Name, invalid.GetValue(), invalid.Unwrap())
	default:
		return err
	}
}

// invalidValue returns the error for a value that a flag or an argument rejects. err says
// what the value must be.
func invalidValue(name, value string, err error) error {
	return fmt.Errorf("%s %q: %w", name, value, err)
}

// flagNamesOf returns the names of the flags that the command shows.
func flagNamesOf(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return names
}
