package cli

const (
	acmeWorks  = "018f3c5e-0000-7000-8000-0000000000a1"
	grantID    = "018f3c5e-0000-7000-8000-0000000000a2"
	memberRole = "018f3c5e-0000-7000-8000-0000000000a3"
	lin        = "018f3c5e-0000-7000-8000-0000000000a4"

	linRefJSON    = `{"id":"` + lin + `","name":"Lin \u001b[2JChen","email":"lin@acme.example"}`
	acmeWorksJSON = `"scopeId":"` + acmeWorks + `","scopeRecord":{"id":"` + acmeWorks + `","name":"Acme Works"}`
	linRolesJSON  = `[{"assignmentId":"` + grantID + `","roleId":"` + memberRole + `","role":"Member","scope":"tenant","createdAt":"2026-11-01T08:00:00Z"},` +
		`{"assignmentId":"018f3c5e-0000-7000-8000-0000000000a6","roleId":"018f3c5e-0000-7000-8000-0000000000a5","role":"Reviewer","scope":"tenant","createdAt":"2026-11-02T08:00:00Z"},` +
		`{"assignmentId":"018f3c5e-0000-7000-8000-0000000000a7","roleId":"018f3c5e-0000-7000-8000-0000000000a5","role":"Reviewer","scope":"organisation",` + acmeWorksJSON + `,"createdAt":"2026-11-03T08:00:00Z"}]`
	linJSON = `{"id":"` + lin + `","homeTenantId":"` + acme + `","principalKind":"HUMAN","email":"lin@acme.example","emailVerified":true,"displayName":"Lin \u001b[2JChen","status":"SUSPENDED",` +
		`"clearance":"INTERNAL","membershipStatus":"ACTIVE","roles":` + linRolesJSON + `,"createdAt":"2026-11-01T08:00:00Z","updatedAt":"2026-11-02T08:00:00Z"}`
	memberRoleJSON = `{"id":"` + memberRole + `","name":"Member","kind":"STANDARD","description":"Works on tasks.","permissions":["task.create","task.delete.own","task.update","tasks.read"],"default":true,"createdAt":"2026-11-01T08:00:00Z","updatedAt":"2026-11-01T08:00:00Z"}`
	reviewerJSON   = `{"id":"018f3c5e-0000-7000-8000-0000000000a5","name":"Reviewer","kind":"STANDARD","description":"","permissions":["gate.review","tasks.read"],"default":true,"createdAt":"2026-11-01T08:00:00Z","updatedAt":"2026-11-01T08:00:00Z"}`
)

// adminGoldens are the cases of the commands that manage access.
func adminGoldens() goldenGroup {
	assignment := `{"id":"` + grantID + `","roleId":"` + memberRole + `","role":"Member","userId":"` + lin + `","user":` + linRefJSON + `,"scope":"organisation",` + acmeWorksJSON + `,"createdAt":"2026-11-01T08:00:00Z"}`
	routes := map[string]reply{
		"GET /api/users/lin@acme.example":                                 okReply(linJSON),
		"GET /api/users?limit=200":                                        okReply(`{"items":[` + linJSON + `]}`),
		"GET /api/users/multi-llm-review":                                 okReply(personJSON),
		"GET /api/roles?limit=200":                                        okReply(`{"items":[` + memberRoleJSON + `,` + reviewerJSON + `]}`),
		"GET /api/roles/Member":                                           okReply(memberRoleJSON),
		"GET /api/roles/Reviewer":                                         okReply(reviewerJSON),
		"GET /api/roles/Member/assignments?limit=200":                     okReply(`{"items":[` + assignment + `]}`),
		"GET /api/roles/" + memberRole + "/assignments?limit=200":         okReply(`{"items":[` + assignment + `]}`),
		"POST /api/roles/Member/assignments":                              {status: 201, body: assignment},
		"DELETE /api/roles/" + memberRole + "/assignments/" + grantID:     {status: 204},
		"DELETE /api/roles/Member/assignments/" + grantID:                 {status: 204},
		"GET /api/auth/api-keys?limit=200&serviceUserId=multi-llm-review": okReply(`{"items":[{` + keyJSON + `}]}`),
	}
	until := `"from":"2026-11-01T08:00:00Z","until":"2026-12-31T17:00:00Z"}`
	delegationID := "018f3c5e-0000-7000-8000-0000000000a8"
	access := `{"user":` + linJSON + `,"active":false,"permissions":[` +
		`{"name":"task.update.own","description":"Change a task that one created.","origins":[{"kind":"role","role":"Member","scope":"tenant"}]},` +
		`{"name":"tasks.read","description":"See tasks.","origins":[{"kind":"role","role":"Member","scope":"tenant"},{"kind":"delegation","scope":"project","scopeId":"` + apollo + `","scopeRecord":{"id":"` + apollo + `","key":"APOLLO","name":"Apollo"},"delegationId":"` + delegationID + `","delegator":"` + worker + `","delegatorUser":` + workerJSON + `}]}],` +
		`"delegations":[{"id":"` + delegationID + `","delegator":"` + worker + `","delegatorUser":` + workerJSON + `,"scope":"project","scopeId":"` + apollo + `","scopeRecord":{"id":"` + apollo + `","key":"APOLLO","name":"Apollo"},"permissions":["tasks.read"],` + until + `]}`
	routes["GET /api/users/lin@acme.example/access"] = okReply(access)
	explanation := func(operation, permission, rest string) reply {
		return okReply(`{"operation":"` + operation + `","permission":"` + permission + `","userId":"` + lin + `","user":` + linRefJSON + `,"revision":"sha256:1",` + rest + `}`)
	}
	denial := `"allow":false,"hidden":false,"resourceType":"task","resourceId":"` + taskID + `","reasons":[` +
		`{"code":"permission_missing","message":"You need the permission task.delete.","remedy":"Ask an administrator for a role that grants task.delete."},` +
		`{"code":"clearance_too_low","message":"The clearance \u001b[2Jis too low.","remedy":"Ask for a higher clearance."}]`
	asLin := "&userId=lin%40acme.example"
	why := "GET /api/explain-decision?operation="
	routes[why+"update-task&record=APOLLO-17"+asLin] = explanation("update-task", "task.update", `"allow":true,"hidden":false,"reasons":[]`)
	routes[why+"get-task&record=APOLLO-17"+asLin] = explanation("get-task", "tasks.read", `"allow":true,"hidden":false,"reasons":[],"onBehalfOf":"`+worker+`","onBehalfOfUser":`+workerJSON+`,"delegationId":"`+delegationID+`"`)
	routes[why+"delete-task&record=APOLLO-17"+asLin] = explanation("delete-task", "task.delete", denial)
	routes[why+"delete-task&record=APOLLO-17"] = explanation("delete-task", "task.delete", denial)
	routes[why+"get-task&record=APOLLO-18"+asLin] = explanation("get-task", "tasks.read", `"allow":false,"hidden":true,"reasons":[]`)
	routes[why+"create-issue&record=APOLLO"+asLin] = explanation("create-issue", "issue.create", `"allow":true,"hidden":false,"reasons":[]`)
	routes[why+"create-project"+asLin] = explanation("create-project", "project.create", `"allow":false,"hidden":false,"reasons":[{"code":"permission_missing","message":"The permission project.create is missing.","remedy":"Ask an administrator for a role that grants project.create."}]`)
	routes[why+"suspend-user&record=worker%40example.org"+asLin] = explanation("suspend-user", "user.suspend", denial)
	routes[why+"start-stage&projectId=APOLLO&record=Design"+asLin] = explanation("start-stage", "stage.update", denial)
	routes["GET /api/users/"+lin+"/access"] = okReply(access)
	return goldenGroup{routes: routes, cases: []goldenCase{
		{"grants-list", []string{"grants", "list"}, environment{}},
		{"grants-list-user", []string{"grants", "list", "--user", "lin@acme.example"}, environment{}},
		{"grants-list-role", []string{"grants", "list", "--role", "Member"}, environment{}},
		{"grants-list-both", []string{"grants", "list", "--role", "Reviewer", "--user", "lin@acme.example"}, environment{}},
		{"grants-assign-organisation", []string{"grants", "assign", "Member", "--user", "lin@acme.example", "--organisation", "Acme Works"}, environment{}},
		{"grants-revoke", []string{"grants", "revoke", "member", "--user", "lin@acme.example", "--yes"}, environment{}},
		{"grants-revoke-id", []string{"grants", "revoke", "Member", "--assignment", grantID, "--yes"}, environment{}},
		{"grants-revoke-ambiguous", []string{"grants", "revoke", "Reviewer", "--user", "lin@acme.example", "--yes"}, environment{}},
		{"grants-revoke-none", []string{"grants", "revoke", "Reviewer", "--user", "lin@acme.example", "--project", "APOLLO", "--yes"}, environment{}},
		{"access-of", []string{"access", "of", "lin@acme.example"}, environment{}},
		{"access-of-permission", []string{"access", "of", "lin@acme.example", "--permission", "tasks.read"}, environment{}},
		{"access-of-permission-own", []string{"access", "of", "lin@acme.example", "--permission", "task.update"}, environment{}},
		{"access-of-permission-unknown", []string{"access", "of", "lin@acme.example", "--permission", "task.fly"}, environment{}},
		{"why", []string{"why", "update-task", "APOLLO-17", "--as", "lin@acme.example"}, environment{}},
		{"why-delegation", []string{"why", "get-task", "APOLLO-17", "--as", "lin@acme.example"}, environment{}},
		{"why-denied", []string{"why", "delete-task", "APOLLO-17", "--as", "lin@acme.example"}, environment{}},
		{"why-hidden", []string{"why", "get-task", "APOLLO-18", "--as", "lin@acme.example"}, environment{}},
		{"why-create", []string{"why", "create-issue", "APOLLO", "--as", "lin@acme.example"}, environment{}},
		{"why-create-in-tenant", []string{"why", "create-project", "--as", "lin@acme.example"}, environment{}},
		{"why-record-missing", []string{"why", "create-task", "--as", "lin@acme.example"}, environment{}},
		{"why-command", []string{"why", "users suspend", "worker@example.org", "--as", "lin@acme.example"}, environment{}},
		{"why-project", []string{"why", "start-stage", "Design", "--as", "lin@acme.example"}, environment{env: map[string]string{"PT_PROJECT": "APOLLO"}}},
		{"why-unknown", []string{"why", "paint-task", "APOLLO-17"}, environment{}},
		{"explain-decision", []string{"explain-decision", "delete-task", "APOLLO-17"}, environment{}},
		{"keys-issue-service", []string{"keys", "issue-service", "--label", "ci", "--user", "multi-llm-review"}, environment{}},
		{"keys-revoke", []string{"keys", "revoke", "CI", "--service-user", "multi-llm-review", "--reason", "replaced", "--yes"}, environment{}},
		{"keys-revoke-none", []string{"keys", "revoke", "laptop", "--service-user", "multi-llm-review", "--reason", "replaced", "--yes"}, environment{}},
	}}
}
