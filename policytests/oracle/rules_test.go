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

// ruleTest is one entry point with functions that draw an input and evaluate it with the
// oracle.
type ruleTest struct {
	name               string
	entrypoint         string
	share              int // of the sum of all shares
	draw               func(*drawer) any
	evaluateWithOracle func(oracle.Oracle, any) answer
	parseResult        func(any) (answer, error)
}

func ruleTests() []ruleTest {
	return []ruleTest{
		{"allow", "parapet/access/allow", 22, (*drawer).decision, oracleBool(oracle.Oracle.Allow), parseBool},
		{"subject", "parapet/subject/subject", 13, (*drawer).subjectInput, oracleSubject, parseSubject},
		{"clearance", "parapet/clearance/may_read", 3, (*drawer).clearancePair, oracleBool(oracle.Oracle.MayRead), parseBool},
		{"issue for a service", "parapet/keys/issue_service", 7, (*drawer).issueService, oracleVerdict(oracle.Oracle.IssueService), parseVerdict},
		{"issue for oneself", "parapet/keys/issue_self", 5, (*drawer).issueSelf, oracleVerdict(oracle.Oracle.IssueSelf), parseVerdict},
		{"list keys", "parapet/keys/list", 4, (*drawer).listKeys, oracleVerdict(oracle.Oracle.List), parseVerdict},
		{"revoke a key", "parapet/keys/revoke", 4, (*drawer).revokeKey, oracleVerdict(oracle.Oracle.Revoke), parseVerdict},
		{"validate a profile", "parapet/profiles/validate", 3, (*drawer).validateProfile, oracleVerdict(oracle.Oracle.ValidateProfile), parseVerdict},
		{"no permission", "parapet/open/verdict", 2, (*drawer).open, oracleVerdict(oracle.Oracle.Open), parseVerdict},
		{"act as", "parapet/actas/verdict", 3, (*drawer).actAs, oracleVerdict(oracle.Oracle.ActAs), parseVerdict},
		{"on behalf of", "parapet/access/behalf", 6, (*drawer).delegatedDecision, oracleBehalf, parseBehalf},
		{"give work", "parapet/work/give", 3, (*drawer).work, oracleVerdict(oracle.Oracle.Give), parseVerdict},
		{"act as agent", "parapet/work/act_as_agent", 2, (*drawer).work, oracleVerdict(oracle.Oracle.ActAsAgent), parseVerdict},
		{"raise a decision", "parapet/work/raise_decision", 2, (*drawer).work, oracleVerdict(oracle.Oracle.RaiseDecision), parseVerdict},
		{"promote an issue", "parapet/work/promote_issue", 1, (*drawer).promotionRequest, oracleVerdict(oracle.Oracle.PromoteIssue), parseVerdict},
		{"count records", "parapet/work/count_records", 1, (*drawer).countRequest, oracleVerdict(oracle.Oracle.CountRecords), parseVerdict},
		{"start a run", "parapet/work/start_run", 2, (*drawer).work, oracleVerdict(oracle.Oracle.StartRun), parseVerdict},
		{"cancel a decision", "parapet/work/cancel_decision", 2, (*drawer).work, oracleVerdict(oracle.Oracle.CancelDecision), parseVerdict},
		{"release a claim", "parapet/work/release_claim", 2, (*drawer).work, oracleVerdict(oracle.Oracle.ReleaseClaim), parseVerdict},
		{"give authority", "parapet/grants/verdict", 3, (*drawer).grantRequest, oracleVerdict(oracle.Oracle.GiveAuthority), parseVerdict},
		{"change an address", "parapet/accounts/change_address", 2, (*drawer).account, oracleVerdict(oracle.Oracle.ChangeAddress), parseVerdict},
		{"reset a password", "parapet/accounts/reset_password", 1, (*drawer).account, oracleVerdict(oracle.Oracle.ResetPassword), parseVerdict},
		{"complete a reset", "parapet/accounts/complete_reset", 1, (*drawer).account, oracleVerdict(oracle.Oracle.CompleteReset), parseVerdict},
		{"activate", "parapet/accounts/activate", 1, (*drawer).account, oracleVerdict(oracle.Oracle.Activate), parseVerdict},
		{"suspend", "parapet/accounts/suspend", 1, (*drawer).account, oracleVerdict(oracle.Oracle.Suspend), parseVerdict},
		{"add a membership", "parapet/accounts/add_membership", 1, (*drawer).account, oracleVerdict(oracle.Oracle.AddMembership), parseVerdict},
		{"restore a membership", "parapet/accounts/restore_membership", 1, (*drawer).account, oracleVerdict(oracle.Oracle.RestoreMembership), parseVerdict},
		{"grant to a role", "parapet/roles/grant", 1, (*drawer).role, oracleVerdict(oracle.Oracle.GrantToRole), parseVerdict},
		{"unassign a role", "parapet/roles/unassign", 1, (*drawer).role, oracleVerdict(oracle.Oracle.UnassignRole), parseVerdict},
		{"delegate", "parapet/delegations/verdict", 1, (*drawer).delegate, oracleVerdict(oracle.Oracle.Delegate), parseVerdict},
	}
}

func oracleBool(rule func(oracle.Oracle, any) bool) func(oracle.Oracle, any) answer {
	return func(o oracle.Oracle, in any) answer { return answer{allow: rule(o, in)} }
}

func parseBool(v any) (answer, error) {
	b, ok := v.(bool)
	if !ok {
		return answer{}, fmt.Errorf("not a boolean: %v", v)
	}
	return answer{allow: b}, nil
}

func oracleBehalf(o oracle.Oracle, in any) answer {
	return listAnswer(o.Behalf(in))
}

func parseBehalf(v any) (answer, error) {
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

func oracleSubject(o oracle.Oracle, in any) answer {
	subject := o.Subject(in)
	if subject == nil {
		return answer{why: "nobody"}
	}
	return subjectAnswer(subject)
}

func parseSubject(v any) (answer, error) {
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

func oracleVerdict(rule func(oracle.Oracle, any) oracle.Verdict) func(oracle.Oracle, any) answer {
	return func(o oracle.Oracle, in any) answer {
		v := rule(o, in)
		return answer{allow: v.Allow, days: v.Days, cap: v.Cap, codes: v.Codes, why: fmt.Sprint(v.Why)}
	}
}

func parseVerdict(v any) (answer, error) {
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
	a.days, a.cap = integer(doc["days"]), integer(doc["cap"])
	return a, nil
}

func integer(v any) int {
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

// describeDifference describes the difference between two decisions, or returns "". A
// failed evaluation of the engine denies. For malformed inputs it does not compare the
// reason codes.
func describeDifference(q ruleTest, want, got answer, answered, wellFormed bool) string {
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
