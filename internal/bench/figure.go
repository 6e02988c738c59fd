package main

import (
	"encoding/json"
	"fmt"
	"io"
	"testing"
)

// figure is one measurement, written as a JSON line.
type figure struct {
	Name          string   `json:"name"`
	Value         float64  `json:"value"`
	Unit          string   `json:"unit"`
	Baseline      string   `json:"baseline,omitempty"`
	BaselineValue *float64 `json:"baselineValue,omitempty"`
	Ratio         *float64 `json:"ratio,omitempty"`
}

// report writes measurements: JSON lines to out, readable text to notes.
type report struct {
	out, notes io.Writer
}

func (r *report) add(f figure) error {
	if f.BaselineValue != nil && *f.BaselineValue != 0 {
		ratio := f.Value / *f.BaselineValue
		f.Ratio = &ratio
		fmt.Fprintf(r.notes, "%-46s %14.2f %-10s %10.3f × %s (%.2f)\n", f.Name, f.Value, f.Unit, ratio, f.Baseline, *f.BaselineValue)
	} else {
		fmt.Fprintf(r.notes, "%-46s %14.2f %-10s\n", f.Name, f.Value, f.Unit)
	}
	return json.NewEncoder(r.out).Encode(f)
}

// measured is the cost of one call.
type measured struct{ nanos, allocs float64 }

// measure runs f until its cost is known. It takes the best of three runs, because other
// programs can only make it slower.
func measure(f func()) measured {
	best := measured{}
	for i := range 3 {
		r := testing.Benchmark(func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f()
			}
		})
		m := measured{float64(r.T.Nanoseconds()) / float64(r.N), float64(r.AllocsPerOp())}
		if i == 0 || m.nanos < best.nanos {
			best = m
		}
	}
	return best
}

// addComparison adds the time and the allocations of a measurement, and compares the time
// with a baseline.
func (r *report) addComparison(name string, m measured, baseline string, base *measured) error {
	f := figure{Name: name, Value: m.nanos, Unit: "ns/op"}
	if base != nil {
		f.Baseline, f.BaselineValue = baseline, &base.nanos
	}
	if err := r.add(f); err != nil {
		return err
	}
	return r.add(figure{Name: name + "/allocs", Value: m.allocs, Unit: "allocs/op"})
}
