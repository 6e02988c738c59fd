package oracle_test

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"

	"parapet/policytests/oracle"
)

// answer is the comparable part of a decision. It is small, because a run keeps two hundred
// thousand.
type answer struct {
	allow     bool
	days, cap int
	codes     []string // the engine returns one, the oracle all that are correct
	document  uint64   // of a subject: the hash of the document
	why       string
}

// question is one entry point with functions that draw an input and evaluate it with the
// oracle.
type question struct {
	name       string
	entrypoint string
	share      int // of the sum of all shares
	draw       func(*drawer) any
	ask        func(oracle.Oracle, any) answer
	read       func(any) (answer, error)
}

func questions() []question {
	return []question{
		{"allow", "parapet/access/allow", 22, (*drawer).decision, askBool(oracle.Oracle.Allow), readBool},
		{"subject", "parapet/subject/subject", 13, (*drawer).subjectInput, askSubject, readSubject},
		{"clearance", "parapet/clearance/may_read", 3, (*drawer).clearancePair, askBool(oracle.Oracle.MayRead), readBool},
		{"issue for a service", "parapet/keys/issue_service", 7, (*drawer).issueService, askVerdict(oracle.Oracle.IssueService), readVerdict},
		{"issue for oneself", "parapet/keys/issue_self", 5, (*drawer).issueSelf, askVerdict(oracle.Oracle.IssueSelf), readVerdict},
		{"list keys", "parapet/keys/list", 4, (*drawer).listKeys, askVerdict(oracle.Oracle.List), readVerdict},
		{"revoke a key", "parapet/keys/revoke", 4, (*drawer).revokeKey, askVerdict(oracle.Oracle.Revoke), readVerdict},
		{"validate a profile", "parapet/profiles/validate", 3, (*drawer).validateProfile, askVerdict(oracle.Oracle.ValidateProfile), readVerdict},
		{"no permission", "parapet/open/verdict", 2, (*drawer).open, askVerdict(oracle.Oracle.Open), readVerdict},
		{"act as", "parapet/actas/verdict", 3, (*drawer).actAs, askVerdict(oracle.Oracle.ActAs), readVerdict},
		{"on behalf of", "parapet/access/behalf", 6, (*drawer).delegatedDecision, askBehalf, readBehalf},
		{"give work", "parapet/work/give", 3, (*drawer).work, askVerdict(oracle.Oracle.Give), readVerdict},
		{"act as agent", "parapet/work/act_as_agent", 2, (*drawer).work, askVerdict(oracle.Oracle.ActAsAgent), readVerdict},
		{"raise a decision", "parapet/work/raise_decision", 2, (*drawer).work, askVerdict(oracle.Oracle.RaiseDecision), readVerdict},
		{"promote an issue", "parapet/work/promote_issue", 1, (*drawer).promotion, askVerdict(oracle.Oracle.PromoteIssue), readVerdict},
		{"count records", "parapet/work/count_records", 1, (*drawer).counting, askVerdict(oracle.Oracle.CountRecords), readVerdict},
		{"start a run", "parapet/work/start_run", 2, (*drawer).work, askVerdict(oracle.Oracle.StartRun), readVerdict},
		{"cancel a decision", "parapet/work/cancel_decision", 2, (*drawer).work, askVerdict(oracle.Oracle.CancelDecision), readVerdict},
		{"release a claim", "parapet/work/release_claim", 2, (*drawer).work, askVerdict(oracle.Oracle.ReleaseClaim), readVerdict},
		{"give authority", "parapet/grants/verdict", 3, (*drawer).grantRequest, askVerdict(oracle.Oracle.GiveAuthority), readVerdict},
		{"change an address", "parapet/accounts/change_address", 2, (*drawer).account, askVerdict(oracle.Oracle.ChangeAddress), readVerdict},
		{"reset a password", "parapet/accounts/reset_password", 1, (*drawer).account, askVerdict(oracle.Oracle.ResetPassword), readVerdict},
		{"complete a reset", "parapet/accounts/complete_reset", 1, (*drawer).account, askVerdict(oracle.Oracle.CompleteReset), readVerdict},
		{"activate", "parapet/accounts/activate", 1, (*drawer).account, askVerdict(oracle.Oracle.Activate), readVerdict},
		{"suspend", "parapet/accounts/suspend", 1, (*drawer).account, askVerdict(oracle.Oracle.Suspend), readVerdict},
		{"add a membership", "parapet/accounts/add_membership", 1, (*drawer).account, askVerdict(oracle.Oracle.AddMembership), readVerdict},
		{"restore a membership", "parapet/accounts/restore_membership", 1, (*drawer).account, askVerdict(oracle.Oracle.RestoreMembership), readVerdict},
		{"grant to a role", "parapet/roles/grant", 1, (*drawer).role, askVerdict(oracle.Oracle.GrantToRole), readVerdict},
		{"unassign a role", "parapet/roles/unassign", 1, (*drawer).role, askVerdict(oracle.Oracle.UnassignRole), readVerdict},
		{"delegate", "parapet/delegations/verdict", 1, (*drawer).delegate, askVerdict(oracle.Oracle.Delegate), readVerdict},
	}
}

func askBool(rule func(oracle.Oracle, any) bool) func(oracle.Oracle, any) answer {
	return func(o oracle.Oracle, in any) answer { return answer{allow: rule(o, in)} }
}

func readBool(v any) (answer, error) {
	b, ok := v.(bool)
	if !ok {
		return answer{}, fmt.Errorf("not a boolean: %v", v)
	}
	return answer{allow: b}, nil
}

func askBehalf(o oracle.Oracle, in any) answer {
	return listAnswer(o.Behalf(in))
}

func readBehalf(v any) (answer, error) {
	list, ok := v.([]any)
	if !ok {
		return answer{}, fmt.Errorf("not a list: %v", v)
	}
	return listAnswer(list), nil
}

// listAnswer allows if the list is not empty.
func listAnswer(list []any) answer {
	if len(list) == 0 {
		return answer{}
	}
	text, err := json.Marshal(unique(sorted(list)))
	if err != nil {
		return answer{why: err.Error()}
	}
	h := fnv.New64a()
	h.Write(text)
	return answer{allow: true, document: h.Sum64(), why: string(text)}
}

// unique removes duplicates from a sorted list.
func unique(v any) any {
	list, _ := v.([]any)
	return slices.CompactFunc(list, func(a, b any) bool { return fmt.Sprint(a) == fmt.Sprint(b) })
}

func askSubject(o oracle.Oracle, in any) answer {
	subject := o.Subject(in)
	if subject == nil {
		return answer{why: "nobody"}
	}
	return subjectAnswer(subject)
}

func readSubject(v any) (answer, error) {
	subject, ok := v.(map[string]any)
	if !ok {
		return answer{}, fmt.Errorf("not an object: %v", v)
	}
	return subjectAnswer(subject), nil
}

// subjectAnswer hashes the document with sorted lists, because they are sets. A subject with
// any permission counts as an allow.
func subjectAnswer(subject map[string]any) answer {
	text, err := json.Marshal(sorted(subject))
	if err != nil {
		return answer{why: err.Error()}
	}
	h := fnv.New64a()
	h.Write(text)
	holds, _ := subject["holds"].([]any)
	return answer{allow: len(holds) > 0, document: h.Sum64(), why: string(text)}
}

func sorted(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			out[k] = sorted(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = sorted(item)
		}
		slices.SortFunc(out, func(a, b any) int {
			x, y := fmt.Sprint(a), fmt.Sprint(b)
			switch {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return 0
		})
		return unique(out)
	}
	return v
}

func askVerdict(rule func(oracle.Oracle, any) oracle.Verdict) func(oracle.Oracle, any) answer {
	return func(o oracle.Oracle, in any) answer {
		v := rule(o, in)
		return answer{allow: v.Allow, days: v.Days, cap: v.Cap, codes: v.Codes, why: fmt.Sprint(v.Why)}
	}
}

func readVerdict(v any) (answer, error) {
	doc, ok := v.(map[string]any)
	if !ok {
		return answer{}, fmt.Errorf("not an object: %v", v)
	}
	allow, ok := doc["allow"].(bool)
	if !ok {
		return answer{}, fmt.Errorf("allow is not a boolean: %v", v)
	}
	a := answer{allow: allow, why: fmt.Sprint(v)}
	if code, ok := doc["code"].(string); ok && code != "" {
		a.codes = []string{code}
	}
	a.days, a.cap = whole(doc["days"]), whole(doc["cap"])
	return a, nil
}

func whole(v any) int {
	switch v := v.(type) {
	case float64:
		return int(v)
	case int:
		return v
	case json.Number:
		n, err := v.Int64()
		if err != nil {
			return -1
		}
		return int(n)
	}
	return 0
}

// describeDifference describes the difference between two decisions, or returns "". A failed evaluation
// of the engine denies. For malformed inputs it does not compare the reason codes.
func describeDifference(q question, want, got answer, answered, wellFormed bool) string {
	switch {
	case want.allow != got.allow:
		return fmt.Sprintf("oracle %t, engine %t", want.allow, got.allow)
	case want.document != got.document:
		return "the subjects differ"
	case !answered:
		return ""
	case want.allow && want.days != got.days:
		return fmt.Sprintf("days: oracle %d, engine %d", want.days, got.days)
	case want.allow && q.name == "issue for oneself" && want.cap != got.cap:
		return fmt.Sprintf("cap: oracle %d, engine %d", want.cap, got.cap)
	case wellFormed && !want.allow && want.codes != nil && (len(got.codes) != 1 || !slices.Contains(want.codes, got.codes[0])):
		return fmt.Sprintf("code: oracle one of %v, engine %v", want.codes, got.codes)
	}
	return ""
}
