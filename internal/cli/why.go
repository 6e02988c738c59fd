package cli

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/cli/text"
	"parapet/internal/client"
	"parapet/internal/contract/identity"
	"parapet/internal/op"
)

// errDenied ends pt why with ExitForbidden and prints nothing: the command has already
// printed the explanation.
var errDenied = errors.New("the policies do not allow the operation")

// newWhyCmd returns the function that builds pt why with the given name.
func newWhyCmd(name string) func(*invocation) *cobra.Command {
	return func(inv *invocation) *cobra.Command {
		k, cmd := newCall(inv, identity.ExplainDecision.Operation, form{
			short: "Explain whether an operation is allowed",
			long: `Explain whether the policies allow an operation, and why. The command changes nothing.
The operation is the name of a pt command on one record, such as update-task or
"users suspend". The record is an ID, key or name. An operation can have more rules, for
example for single fields.

To ask about an operation that creates a record, name the record in which it does so:
the project for create-task, the task for create-comment. create-project, users create
and others create a record in the tenant: omit the record, or name the organisation that
the new record belongs to.

The exit code is 0 if the operation is allowed and 6 if it is denied.

Everybody may ask about themselves. To ask about others, you need decision_log.read in
the whole tenant and user.read, and you must be able to see the record.`,
			example: "  pt " + name + " update-task HW-3\n  pt " + name + " delete-task HW-3 --as lin@acme.example\n  pt " + name + " create-project --as lin@acme.example\n  pt " + name + " create-task HW --json --jq .data.allow",
			args:    "operation=operation record=record", flags: "userId=as", ignoreDefaultProject: true,
			omitLast: mayOmitRecord, find: findExplained,
		}, name)
		return inv.setRun(cmd, reflect.TypeFor[identity.Explanation](), func(ctx context.Context, args []string) error {
			c, err := k.prepare(ctx, args)
			if err != nil {
				return err
			}
			in, err := inputOf[identity.ExplainDecisionIn](k)
			if err != nil {
				return err
			}
			e, err := callOperation(ctx, c, identity.ExplainDecision, in)
			if err != nil {
				return err
			}
			origins := inv.findOrigins(ctx, c, e)
			err = inv.show(ctx, view{data: e, markdown: func(d *markdown.Doc) {
				writeExplanation(d, e, in.Record, origins.names)
				if in.UserID != "" && origins.isNewRole {
					d.Line("A session or key from before the role was assigned does not have the role: the user may have to log in again.")
				}
			}})
			if err == nil && !e.Allow {
				return errDenied
			}
			return err
		})
	}
}

// findExplained replaces the name of a command by the name of its operation, and sets the
// default project if the operation needs a project.
func findExplained(_ context.Context, k *call, _ *client.Client) error {
	in, err := inputOf[identity.ExplainDecisionIn](k)
	if err != nil {
		return err
	}
	o := operationOfCommand(in.Operation)
	if o == nil {
		var names []string
		for _, known := range operations() {
			names = append(names, known.Name)
		}
		return usagef("there is no operation %q%s", in.Operation, didYouMean(nearestCommand(in.Operation, names)))
	}
	in.Operation = o.Name
	target := o.RecordField()
	isTaskKey := target == "task" && op.TaskKeyPrefix(in.Record) != ""
	if k.project.isSet || isTaskKey || target == "projectId" || !slices.Contains(o.PathParts(), "projectId") {
		return nil
	}
	s, err := k.inv.settings()
	if err != nil {
		return err
	}
	return k.inv.setDefaultProject(k.project, s, "")
}

// mayOmitRecord reports whether an operation can be explained without a record. It is true
// for an unknown operation, whose error does not depend on the record.
func mayOmitRecord(args []string) bool {
	o := operationOfCommand(args[0])
	return o == nil || !o.RequiresRecord()
}

// operationOfCommand returns the operation with the name, or that of a command such as
// "users suspend", or nil.
func operationOfCommand(name string) *op.Operation {
	for _, o := range operationForms() {
		if o.Name == name || o.via == name || slices.Contains(o.paths, name) {
			return o.Operation
		}
	}
	return nil
}

// sessionLifetime is the longest time that a session lasts.
const sessionLifetime = 12 * time.Hour

// explanationOrigins are what grants the permission of an allowed operation.
type explanationOrigins struct {
	names []string
	// isNewRole reports whether only roles grant it that may be newer than the user's
	// session.
	isNewRole bool
}

// findOrigins returns which roles grant the permission of an allowed operation, or
// the delegation that allows it. It returns nothing if the caller may not read the access
// of the user.
func (inv *invocation) findOrigins(ctx context.Context, c *client.Client, e *identity.Explanation) (origins explanationOrigins) {
	if !e.Allow || inv.wantsJSON() {
		return origins
	}
	a, err := ignoreForbidden(callOperation(ctx, c, identity.GetAccess, &identity.UserIn{UserID: e.UserID}))
	if err != nil {
		inv.printNote("The page is not complete: %s", text.Line(err.Error()))
	}
	if a == nil {
		return origins
	}
	held := heldPermission(a, e.Permission)
	if held == nil {
		return origins
	}
	oldest := inv.Clock.Now()
	for i := range held.Origins {
		o := &held.Origins[i]
		if o.DelegationID != e.DelegationID {
			continue
		}
		origins.names = append(origins.names, "the "+originText(a, o))
		for _, r := range a.User.Roles {
			if o.Kind == identity.OriginRole && r.Role == o.Role && r.Scope == o.Scope && r.ScopeID == o.ScopeID && r.CreatedAt.Before(oldest) {
				oldest = r.CreatedAt
			}
		}
	}
	// No session is older than the roles that the user got with the account.
	isLater := oldest.After(a.User.CreatedAt)
	origins.isNewRole = e.DelegationID == "" && len(origins.names) > 0 && isLater && inv.Clock.Now().Sub(oldest) < sessionLifetime
	return origins
}

// writeExplanation writes the page of pt why. name is the record as the user typed it.
func writeExplanation(d *markdown.Doc, e *identity.Explanation, name string, origins []string) {
	user := string(e.UserID)
	if e.User != nil {
		user = userName(&identity.User{Email: firstNonEmpty(e.User.Email, e.User.Name, user), DisplayName: e.User.Name})
	}
	may := " may not "
	if e.Allow {
		may = " may "
	}
	d.Line(user + may + actionText(e.Operation, name) + ".")
	if e.Hidden {
		d.Line(user + " sees no such record: the server answers as if the record did not exist.")
	}
	d.Field("Permission", e.Permission)
	if e.DelegationID != "" && len(origins) == 0 {
		origins = []string{"the delegation of " + personAddress(e.OnBehalfOfUser, e.OnBehalfOf)}
	}
	for _, origin := range origins {
		d.Field("Granted by", origin)
	}
	if e.DelegationID != "" {
		d.Field("Delegation", string(e.DelegationID))
	}
	for _, r := range e.Reasons {
		d.Field("Reason", r.Message)
		d.Field("Remedy", r.Remedy)
	}
}

// actionText says what an operation does with a record: "update the task HW-3".
func actionText(operation, name string) string {
	o := operationOfCommand(operation)
	if o == nil {
		return "run " + operation
	}
	action, noun := actionOf(o)
	switch {
	case name != "":
	case action != "create":
		return "run " + operation
	case noun == "tenant":
		return "create a tenant"
	default:
		return "create " + withArticle(noun) + " in the tenant"
	}
	target := o.RecordField()
	if op.TaskKeyPrefix(name) != "" && o.HasField("taskId") {
		target = "taskId"
	}
	kind := strings.ReplaceAll(toKebabCase(strings.TrimSuffix(target, "Id")), "-", " ")
	record := "the " + kind + " " + name
	switch {
	case noun == kind:
		return string(action) + " " + record
	case action == "create" && slices.Contains([]string{"project", "initiative", "organisation"}, kind):
		return "create " + withArticle(noun) + " in " + record
	case action == "create":
		return "create " + withArticle(noun) + " on " + record
	default:
		return "run " + operation + " on " + record
	}
}

// withArticle returns a noun with its indefinite article: "an issue".
func withArticle(noun string) string {
	if strings.ContainsRune("aeio", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// suggestOperations suggests the operations that explain-decision accepts: those that need
// exactly one permission for one record.
func suggestOperations(context.Context, *completionQuery) ([]suggestion, error) {
	var all []suggestion
	for _, o := range operations() {
		if o.Permission != "" && o.Grant == o.Permission && pageType(o) == nil {
			all = append(all, suggestion{o.Name, o.Summary})
		}
	}
	return all, nil
}
