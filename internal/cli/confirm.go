package cli

import (
	"context"
	"net/http"
	"reflect"
	"strings"

	"parapet/internal/client"
	"parapet/internal/op"
)

// confirm asks for confirmation if the command deletes or gives access, unless --yes is
// set. Without a terminal, a command that only gives access does not ask.
func (k *call) confirm(ctx context.Context, c *client.Client) error {
	switch {
	case k.yes, k.op.Effect != op.Destroy && (k.form.change == nil || !k.inv.canAsk()):
		return nil
	case k.form.change == nil:
		return k.confirmDestructive(ctx, c)
	}
	ch, err := k.form.change(ctx, k, c)
	if err != nil || ch == nil {
		return err
	}
	return k.inv.confirmChange(ctx, ch)
}

// confirmDestructive asks for confirmation with the name of the record.
func (k *call) confirmDestructive(ctx context.Context, c *client.Client) error {
	last := k.args[len(k.args)-1]
	name := last.foundName
	if name == "" {
		var err error
		if name, err = k.readName(ctx, c); err != nil {
			return err
		}
	}
	question := k.form.question
	if question == "" {
		action, noun := actionOf(k.op)
		question = strings.ToUpper(string(action[:1])) + string(action[1:]) + " the " + noun + " %s permanently?"
	}
	return k.inv.confirm(ctx, question, firstNonEmpty(name, last.typed))
}

// readName returns the name of the record that the command deletes, or "" if no operation
// reads the record.
func (k *call) readName(ctx context.Context, c *client.Client) (string, error) {
	out, err := k.readRecord(ctx, c)
	if err != nil || !out.IsValid() {
		return "", err
	}
	return nameOf(out), nil
}

// readOperation returns the operation that reads the record of the command, which is the one
// with the same route, or nil.
func (k *call) readOperation() *op.Operation {
	for _, o := range operations() {
		if o.Method == http.MethodGet && o.Path == k.op.Path {
			return o
		}
	}
	return nil
}

// readRecord returns the record of the command, or the zero Value if no operation reads it.
func (k *call) readRecord(ctx context.Context, c *client.Client) (reflect.Value, error) {
	o := k.readOperation()
	if o == nil {
		return reflect.Value{}, nil
	}
	in, out := reflect.New(o.In), reflect.New(o.Out)
	for _, part := range o.PathParts() {
		in.Elem().Field(fieldNamed(o, part).Index).Set(k.in.Field(fieldNamed(k.op, part).Index))
	}
	if err := client.Call(ctx, c, o, in.Interface(), out.Interface()); err != nil {
		return reflect.Value{}, err
	}
	return out.Elem(), nil
}
