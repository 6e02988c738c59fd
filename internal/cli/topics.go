package cli

import (
	"context"
	"reflect"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
)

// versionOut is what pt version tells.
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
	return inv.runs(cmd, reflect.TypeFor[versionOut](), func(ctx context.Context, _ []string) error {
		return inv.show(ctx, view{data: versionOut{inv.Version}, markdown: func(d *markdown.Doc) { d.Line("pt " + inv.Version) }})
	})
}

// helpTopics are pages that pt help gives besides the commands.
func helpTopics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "environment", Short: "Variables and files that pt reads", Long: environmentTopic},
		{Use: "exit-codes", Short: "What pt's exit codes mean", Long: exitCodesTopic},
		{Use: "formatting", Short: "Markdown, JSON, --jq and --fields", Long: formattingTopic},
		{Use: "names", Short: "How projects, tasks and other records are named", Long: namesTopic},
	}
}

const environmentTopic = `Variables that pt reads. A flag beats the environment beats the profile.

  PT_BASE_URL      address of the service (http://localhost:3000 where nothing else is set)
  PT_AUTH_TOKEN    credential, in place of the one that pt auth login keeps
  PT_ORG           organisation to act in, by its id or its tenant's; --org
  PT_PROJECT       project of commands that name none
  PT_PROFILE       profile; --profile
  PT_TIMEOUT       how long a request may take, such as 10s; --timeout
  PT_DEBUG         api: a line a request on the error stream, with method, path,
                   status, time and request id
  PT_CONFIG_DIR    folder of pt's files
  NO_COLOR         no colours on a terminal
  CLICOLOR_FORCE   colours and layout even where the output is no terminal
  HTTPS_PROXY, HTTP_PROXY, NO_PROXY   proxies

Files, in PT_CONFIG_DIR, else $XDG_CONFIG_HOME/pt, else ~/.config/pt:

  config.json       profiles: address, organisation, project
  credentials.json  credentials, for their owner alone (mode 0600), each with the
                    address that it is for and is sent to`

const exitCodesTopic = `Exit codes:

   0  done; an empty list is done too
   1  an error that has no code of its own
   2  cancelled: by Ctrl-C, by an answer, or the decision that was waited for was
   3  not found, or not to be seen
   4  authentication: no credential, or one that the service refuses
   5  conflict: a name that is taken, a hint that fits more than one, a double
   6  forbidden: the message names the cause, and the hint what would help
   7  try again later: the service is busy, can't be reached, or took too long; nothing
      was changed
   8  a decision is pending: it was not answered in the time that --timeout gives
   9  outcome unknown: the connection was lost during a change, which may have
      happened; look before you repeat it
  64  usage: the command line can't be carried out as it stands

Errors go to the error stream: what happened, why, what to try. With --json each
is {"error":{"code","message","hint","requestId","retryable"}}, with reason, reasons,
field, permission and details where they apply. The reasons of a denial are its
causes, each {"code","message","remedy"}.

Reads are tried up to three times. A change carries an idempotency key, so it is
tried again too and carried out once; where its answer was lost, up to six times
within the time limit. Commands that show a secret once (issue-key, login) carry
none and are sent once.

OUTCOME_UNKNOWN says that the change may or may not have happened, and how to find
out. It is retryable where the command names its own --idempotency-key: then the
same command again is safe. details.idempotencyKey is the key that was sent.`

const namesTopic = `How records are named.

  project      its id, its task-key prefix, its name or a part of its name, a path
               or an address of a repository that is bound to it
  task         its key (APOLLO-17) or id
  issue        its key (ISS-4) or id
  initiative   its id, its name or a part of it
  stage, gate, custom field, deliverable
               its id, its name or a part of it, within the project; a stage also
               by its place in the pipeline
  user         its id (pt list-people)

Letters' case does not count in names. A name that fits more than one record is an
error that lists them (exit code 5), never a guess. An id costs no look-up.

Where a command takes a project and none is named, the first of these is meant:

  1. PT_PROJECT, or the profile's project
  2. the prefix of the task's key: pt get-task APOLLO-17
  3. the project that the current folder is bound to: by the address of its git
     remote, else by its absolute path; the longest binding counts

pt bind-repo binds a folder. What is destroyed has to be named: there neither
PT_PROJECT nor the folder counts. Credentials in the address of a remote are never
sent.`

const formattingTopic = `pt prints Markdown: in a pipe plain and the same bytes for the same answer, on a
terminal laid out for its width. Data goes to the output stream, all else to the
error stream.

  --json          {"schemaVersion":1,"data":…,"nextCursor":…}; nextCursor is null
                  where nothing follows
  --fields a,b    only these fields of the data, or of each item of it
  --jq EXPR       what a jq expression gives of the JSON: texts as they are, the
                  rest as JSON, one a line

Lists give one page: --limit sets its size, --cursor asks for the next, --all gives
all. A list that was cut says so on the error stream.

Titles, names and descriptions are text that somebody wrote. Characters in them
that would act on a terminal or can't be seen (escape sequences, direction marks,
zero-width characters) are shown as escapes such as \x1b and \u202e. JSON keeps
them as data, spelled as JSON escapes.`
