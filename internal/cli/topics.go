package cli

import (
	"context"
	"reflect"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
)

// versionOut is the output of pt version.
type versionOut struct {
	Version string `json:"version"`
}

func newVersionCmd(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of pt",
		Example: `  pt version`,
		Args:    cobra.NoArgs,
	}
	return inv.setRun(cmd, reflect.TypeFor[versionOut](), func(ctx context.Context, _ []string) error {
		return inv.show(ctx, view{data: versionOut{inv.Version}, markdown: func(d *markdown.Doc) { d.Line("pt " + inv.Version) }})
	})
}

// helpTopics returns the pages of pt help that describe no command.
func helpTopics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "environment", Short: "Environment variables and files that pt reads", Long: environmentTopic},
		{Use: "exit-codes", Short: "Exit codes and the format of errors", Long: exitCodesTopic},
		{Use: "formatting", Short: "Markdown, JSON, --jq and --fields", Long: formattingTopic},
		{Use: "names", Short: "How to identify projects, tasks and other records", Long: namesTopic},
	}
}

const environmentTopic = `Environment variables. A flag takes precedence over a variable, and a variable over
the profile.

  PT_BASE_URL      URL of the service (default http://localhost:3000)
  PT_AUTH_TOKEN    credential; replaces the one that pt auth login stored
  PT_ORG           slug or ID of the tenant to act in, or ID of its organisation; --org
  PT_PROJECT       default project
  PT_PROFILE       profile; --profile
  PT_TIMEOUT       time limit of a request, such as 10s; --timeout
  PT_DEBUG         if set to api, pt logs each request on standard error: method,
                   path, status, duration and request id
  PT_CONFIG_DIR    directory of pt's files
  PT_PAGER, PAGER  pager for output that is longer than the screen (default less -FRX);
                   cat turns it off; --no-pager
  FORCE_HYPERLINK  1 makes links in Markdown clickable, 0 does not (default: if the
                   terminal is known to support it)
  VISUAL, EDITOR   editor for --editor, and for long texts that are missing on a
                   terminal
  CI               if set, pt never asks for missing values
  NO_COLOR         disables colors on a terminal
  CLICOLOR_FORCE   enables colors and terminal layout for any output
  HTTPS_PROXY, HTTP_PROXY, NO_PROXY   proxies

Files in PT_CONFIG_DIR, else in $XDG_CONFIG_HOME/pt, else in ~/.config/pt:

  config.json       profiles: URL, organisation, project
  credentials.json  credentials (mode 0600), each with the URL of its service; pt
                    sends a credential only to that URL`

const exitCodesTopic = `Exit codes:

   0  success, also if a list is empty
   1  an error without a more specific exit code
   2  cancelled: by Ctrl-C, at a prompt, or because the awaited decision request was
      cancelled
   3  not found, or not visible to you
   4  authentication: the credential is missing or was rejected
   5  conflict: a name is taken, a name matches several records, or the task is a
      duplicate
   6  forbidden: the message names the cause, the hint names a remedy; also pt why, if
      the operation is denied
   7  try again later: the service is busy, can't be reached or took too long; nothing
      was changed
   8  decision pending: nobody answered within --timeout
   9  outcome unknown: the connection was lost during a change that may have happened;
      check before you repeat it
  64  usage: the command line is wrong

pt writes errors to standard error: what happened, why, and what to try. With --json,
an error is {"error":{"code","message","hint","requestId","retryable"}}, with reason,
reasons, field, permission and details if they apply. The reasons of a denial are its
causes, each {"code","message","remedy"}.

pt tries a read up to three times. It also repeats a change, because each change
carries an idempotency key and takes effect only once; if the response was lost, it
tries up to six times within the time limit. Commands that show a secret only once
(issue-key, login) carry no key and are sent once.

OUTCOME_UNKNOWN means that the change may or may not have happened. The hint says how
to find out. The error is retryable if you set --idempotency-key: then it is safe to
repeat the command. details.idempotencyKey is the key that was sent.`

const namesTopic = `How to identify a record in a command.

  project      ID, task-key prefix or name, or the path or URL of a repository that is
               bound to the project
  task         key (APOLLO-17) or ID
  issue        key (ISS-4) or ID
  initiative, role, organisation
               ID or name
  stage, gate, custom field, deliverable
               ID, name or part of the name, within the project; a stage also by its
               position in the pipeline
  person       ID, me, email address, integration key or display name

Names are not case-sensitive. Commands that read also accept a part of the name of a
project or an initiative. Commands that delete need the whole name of a record. If a name matches several records, pt lists them and
exits with code 5.

If you name no project, pt uses the first of these:

  1. the prefix of the task's key: pt get-task APOLLO-17
  2. PT_PROJECT, or the profile's project
  3. the project to which the current directory is bound: by the URL of its git
     remote, else by its absolute path; the longest binding applies

pt bind-repo binds a directory. Commands that delete need an explicit project or the
key of a task: they use neither PT_PROJECT nor the directory. pt never sends credentials in the URL of a
remote.`

const formattingTopic = `pt prints Markdown: plain and reproducible in a pipe, formatted to the width of a
terminal. Data goes to standard output, everything else to standard error.

  --json          {"schemaVersion":1,"data":…,"nextCursor":…}; nextCursor is null on
                  the last page
  --fields a,b    only these fields of the data or of each of its items
  --jq EXPR       the results of a jq expression on the JSON: strings unquoted, other
                  values as JSON, one per line

Lists return one page. --limit sets its size, --cursor requests the next page, --all
requests all pages. If more items follow, pt says so: on a terminal below the table,
else on standard error, with the cursor of the next page.

On a terminal, pt shows times relative to now (--time absolute shows them in UTC), due
dates that have passed in red, Markdown without its marks, and output that is longer
than the screen in a pager. Tables fit the width; a line below the table names columns
that do not fit.

Titles, names and descriptions are user-generated text. pt shows invisible characters
and terminal control characters (escape sequences, direction marks, zero-width
characters) as escapes such as \x1b and \u202e. JSON output keeps them as JSON
escapes.`
