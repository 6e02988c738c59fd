package oracle_test

import (
	"fmt"
	"testing"

	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
	"parapet/policytests/oracle"
)

// clearanceValues returns every kind of value that a clearance or a classification can have.
// nil is NULL in the database and null in a document.
func clearanceValues() []*string {
	out := []*string{nil}
	for _, s := range append(append([]string{}, tiers...),
		"", " ", "secret", "Secret", "SECRET ", " SECRET", "TOP SECRET", "TOP_SECRET", "SECRET\n", "UNCLASSIFIED,SECRET", "4", "-1", "null", "ѕecret") {
		out = append(out, &s)
	}
	return out
}

func show(s *string) string {
	if s == nil {
		return "null"
	}
	return fmt.Sprintf("%q", *s)
}

// TestClearance_DatabasePoliciesAndOracleAgree compares the implementations for every pair
// of values. There is one intended difference: an unknown clearance reads nothing in the
// database, but UNCLASSIFIED records in the policies.
func TestClearance_DatabasePoliciesAndOracleAgree(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	tx := pgtest.Tx(t, postgres.RoleIdentity, tenants[0])
	values := clearanceValues()
	for _, clearance := range values {
		var rank int
		if err := tx.QueryRow(t.Context(), `SELECT identity.clearance_rank($1)`, clearance).Scan(&rank); err != nil {
			t.Fatal(err)
		}
		want := -1
		if clearance != nil {
			want = oracle.Rank(*clearance)
		}
		if rank != want {
			t.Errorf("rank of %s: got %d from the database, want %d", show(clearance), rank, want)
		}
		for _, classification := range values {
			var stored bool
			err := tx.QueryRow(t.Context(), `SELECT identity.may_read($1, $2)`, classification, clearance).Scan(&stored)
			if err != nil {
				t.Fatal(err)
			}
			if want := oracle.MayReadStored(clearance, classification); stored != want {
				t.Errorf("clearance %s, classification %s: got %t from the database, want %t", show(clearance), show(classification), stored, want)
			}
			in := map[string]any{}
			put := func(name string, v *string) {
				in[name] = nil
				if v != nil {
					in[name] = *v
				}
			}
			put("clearance", clearance)
			put("classification", classification)
			v, err := e.EvalRaw(t.Context(), "parapet/clearance/may_read", in)
			if err != nil {
				t.Fatal(err)
			}
			claim := v == true
			if want := (oracle.Oracle{}).MayRead(in); claim != want {
				t.Errorf("clearance %s, classification %s: got %t from the policies, want %t", show(clearance), show(classification), claim, want)
			}
			if rank >= 0 && claim != stored {
				t.Errorf("clearance %s, classification %s: got %t from the policies, %t from the database", show(clearance), show(classification), claim, stored)
			}
		}
	}
}

// TestClearanceRank_DatabaseKnowsEveryTier reads the rank of each tier from the database:
// the comparison above would also pass if the database knew no tier.
func TestClearanceRank_DatabaseKnowsEveryTier(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t, postgres.RoleIdentity, tenants[0])
	for want, tier := range tiers {
		var rank int
		if err := tx.QueryRow(t.Context(), `SELECT identity.clearance_rank($1)`, tier).Scan(&rank); err != nil {
			t.Fatal(err)
		}
		if rank != want {
			t.Errorf("rank of %s: got %d, want %d", tier, rank, want)
		}
	}
}
