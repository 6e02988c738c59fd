package migrate

import (
	"strings"
	"testing"
)

func FuzzParseName(f *testing.F) {
	for _, name := range []string{"0001_a.sql", "0001_a_b.sql", "1_a.sql", "0000_a.sql", "+001_a.sql", "0001_.sql"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		m, err := parseName("s", name)
		if err != nil {
			return
		}
		if m.Version < 1 || m.Version > 9999 || m.Path() != "s/"+strings.TrimSuffix(name, ".sql")+".sql" {
			t.Errorf("parseName(%q): got path %s", name, m.Path())
		}
	})
}
