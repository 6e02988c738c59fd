package oracle_test

import (
	"context"
	"flag"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"parapet/internal/authz"
	"parapet/policytests/oracle"
)

var (
	decisions = flag.Int("decisions", 12_000/perDetector, "how many random decisions to compare; the other random tests scale with it")
	seed      = flag.Uint64("seed", 20261120, "where the random decisions begin")
)

func keys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

func newEngine(t *testing.T) *authz.Engine {
	t.Helper()
	// The test uses all cores, so an evaluation may have to wait.
	e, err := authz.New(t.Context(), authz.Config{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// drawTestCase draws the rule and the input of one case, and whether the input is
// well-formed.
func drawTestCase(all []ruleTest, number int) (q ruleTest, in any, wellFormed bool) {
	d := newDrawer(*seed, uint64(number))
	total := 0
	for _, q := range all {
		total += q.share
	}
	at, n := 0, d.rnd.IntN(total)
	for n >= all[at].share {
		n -= all[at].share
		at++
	}
	q = all[at]
	in = q.draw(d)
	if d.chance(35) {
		return q, d.corrupt(in), false
	}
	return q, in, true
}

// evaluateWithEngine evaluates the rule with the engine. A failed evaluation denies.
func evaluateWithEngine(ctx context.Context, e *authz.Engine, q ruleTest, in any) (got answer, answered bool) {
	v, err := e.EvalRaw(ctx, q.entrypoint, in)
	if err != nil {
		return answer{why: err.Error()}, false
	}
	if code := codeWithoutMessage(e, v); code != "" {
		return answer{why: "the reason " + code + " is not explained in parapet/reasons"}, false
	}
	got, err = q.parseResult(v)
	if err != nil {
		return answer{why: err.Error()}, false
	}
	return got, true
}

// codeWithoutMessage returns a reason code of the decision that has no message, or "".
func codeWithoutMessage(e *authz.Engine, answer any) string {
	object, _ := answer.(map[string]any)
	for _, code := range stringsOf(object["reasons"]) {
		if _, ok := e.Catalogue().Reasons[code]; !ok {
			return code
		}
	}
	return ""
}

// tally contains the statistics of one rule.
type tally struct {
	cases, wellFormed, allowed, unanswered int
}

// parallel calls work for the numbers below n on all processors.
func parallel(n int, work func(number int)) {
	var group sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		group.Go(func() {
			for i := w; i < n; i += workers {
				work(i)
			}
		})
	}
	group.Wait()
}

// TestEngine_AgreesWithOracle compares the engine and the oracle on random inputs. For a
// difference, it prints a minimal input and both reasons.
func TestEngine_AgreesWithOracle(t *testing.T) {
	t.Parallel()
	e, all := newEngine(t), ruleTests()
	var lock sync.Mutex
	counts := map[string]*tally{}
	found := map[string]int{}
	for _, q := range all {
		counts[q.name] = &tally{}
	}
	parallel(*decisions, func(number int) {
		q, in, wellFormed := drawTestCase(all, number)
		want := q.evaluateWithOracle(oracle.Oracle{}, in)
		got, answered := evaluateWithEngine(t.Context(), e, q, in)
		difference := describeDifference(q, want, got, answered, wellFormed)

		lock.Lock()
		defer lock.Unlock()
		c := counts[q.name]
		c.cases++
		if wellFormed {
			c.wellFormed++
			if !answered {
				c.unanswered++
			}
			if want.allow {
				c.allowed++
			}
		}
		if difference == "" {
			return
		}
		found[q.name]++
		if found[q.name] <= 3 {
			report(t, e, q, number, in, wellFormed)
		}
	})

	total := tally{}
	for _, q := range all {
		c := counts[q.name]
		t.Logf("%-20s %7d decisions, %6d well-formed, %5.1f %% of these allow, %d disagreements", q.name, c.cases, c.wellFormed, percent(c.allowed, c.wellFormed), found[q.name])
		total.cases += c.cases
		total.wellFormed += c.wellFormed
		total.allowed += c.allowed
		if p := percent(c.allowed, c.wellFormed); p < 10 || p > 90 {
			t.Errorf("%s: got %.1f %% allowed well-formed inputs: a constant decision would pass", q.name, p)
		}
		if c.unanswered > 0 {
			t.Errorf("%s: got no result for %d well-formed inputs", q.name, c.unanswered)
		}
	}
	if p := percent(total.allowed, total.wellFormed); p < 20 || p > 80 {
		t.Errorf("got %.1f %% allowed well-formed inputs, want a balanced sample", p)
	}
}

func percent(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}

func report(t *testing.T, e *authz.Engine, q ruleTest, number int, in any, wellFormed bool) {
	t.Helper()
	got, answered := evaluateWithEngine(t.Context(), e, q, in)
	difference := describeDifference(q, q.evaluateWithOracle(oracle.Oracle{}, in), got, answered, wellFormed)
	small := minimise(clone(in), func(candidate any) bool {
		got, answered := evaluateWithEngine(t.Context(), e, q, candidate)
		return describeDifference(q, q.evaluateWithOracle(oracle.Oracle{}, candidate), got, answered, wellFormed) == difference
	})
	want := q.evaluateWithOracle(oracle.Oracle{}, small)
	got, _ = evaluateWithEngine(t.Context(), e, q, small)
	t.Errorf("%s, case %d: %s\n  input  %s\n  oracle %t %v %s\n  engine %t %v %s",
		q.name, number, difference, toJSON(small), want.allow, want.codes, want.why, got.allow, got.codes, got.why)
}

// TestOracle_EveryFaultIsDetected compares the engine with oracles that each have one wrong
// rule: the comparison must detect every fault. Only a case in which the wrong oracle
// differs from the correct one can detect it. The engine is a hundred times slower than an
// oracle, so it decides only such cases.
func TestOracle_EveryFaultIsDetected(t *testing.T) {
	t.Parallel()
	e, all := newEngine(t), ruleTests()
	const limit, batch = 60_000, 1_000
	missing, detected := oracle.Faults(), sync.Map{}
	for from := 0; from < limit && len(missing) > 0; from += batch {
		parallel(batch, func(i int) {
			q, in, wellFormed := drawTestCase(all, from+i)
			right := q.evaluateWithOracle(oracle.Oracle{}, in)
			decide := sync.OnceValues(func() (answer, bool) { return evaluateWithEngine(t.Context(), e, q, in) })
			for _, fault := range missing {
				if _, ok := detected.Load(fault); ok {
					continue
				}
				wrong := q.evaluateWithOracle(oracle.With(fault), in)
				if describeDifference(q, right, wrong, true, wellFormed) == "" {
					continue
				}
				got, answered := decide()
				if describeDifference(q, wrong, got, answered, wellFormed) != "" {
					detected.Store(fault, true)
				}
			}
		})
		missing = slices.DeleteFunc(missing, func(f oracle.Fault) bool {
			_, ok := detected.Load(f)
			return ok
		})
	}
	for _, fault := range missing {
		t.Errorf("fault %q: not detected in %d cases", fault, limit)
	}
}
