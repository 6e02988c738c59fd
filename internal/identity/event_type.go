package identity

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	contract "parapet/internal/contract/identity"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// EventModules are the contracts whose types of events list-event-types returns.
type EventModules []*op.Module

// eventTypes returns the types of events whose names start with the prefix and follow after,
// by name, with their JSON Schemas if schemas is true.
func (m EventModules) eventTypes(prefix, after string, schemas bool) ([]contract.EventType, error) {
	var list []contract.EventType
	for _, module := range m {
		for _, e := range module.Events() {
			if !strings.HasPrefix(e.Name, prefix) || e.Name <= after {
				continue
			}
			t := contract.EventType{Name: e.Name, Version: e.Version, Record: e.Record, Module: module.Name, Description: e.Doc}
			if schemas {
				var err error
				if t.Schema, err = eventSchema(e); err != nil {
					return nil, err
				}
			}
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b contract.EventType) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// eventSchema returns the JSON Schema of a type of event as a JSON object.
func eventSchema(e *op.EventType) (map[string]any, error) {
	schema, err := e.Schema()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("identity: schema of %s: %w", e, err)
	}
	var object map[string]any
	return object, json.Unmarshal(text, &object)
}

func (s *Service) listEventTypes(_ context.Context, c *executor.Call, in *contract.ListEventTypesIn) (*op.Page[contract.EventType], error) {
	after, err := op.ReadCursor(in.Cursor, contract.ListEventTypes.Name, c.Tenant, 1)
	if err != nil {
		return nil, err
	}
	name := ""
	if after != nil {
		name = after[0]
	}
	list, err := s.deps.EventModules.eventTypes(in.Prefix, name, in.Schemas)
	if err != nil {
		return nil, err
	}
	if list == nil {
		list = []contract.EventType{}
	}
	return op.NewPage(list[:min(len(list), in.Limit+1)], in.Limit, func(last *contract.EventType) string {
		return op.NewCursor(contract.ListEventTypes.Name, c.Tenant, last.Name)
	}), nil
}

func (s *Service) getEventType(_ context.Context, _ *executor.Call, in *contract.EventTypeIn) (*contract.EventType, error) {
	list, err := s.deps.EventModules.eventTypes(in.EventType, "", true)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].Name == in.EventType {
			return &list[i], nil
		}
	}
	return nil, fault.NotFound("event type")
}
