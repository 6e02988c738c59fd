package authz

import "time"

// DecisionSink takes decision records without ever waiting: what it cannot take
// it drops and counts.
type DecisionSink interface {
	Record(DecisionRecord)
}

// DecisionRecord is one line of the decision log. Input is masked JSON: ids and
// codes only, no token, secret, address or free text.
type DecisionRecord struct {
	Time       time.Time
	Tenant     string
	Actor      string
	Permission string
	Module     string
	Input      []byte
	Allow      bool
	Hidden     bool
	Reasons    []string
	Revision   string
	RequestID  string
}
