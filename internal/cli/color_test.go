package cli

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// escapePattern matches the escape sequences in source code that control a terminal.
var escapePattern = regexp.MustCompile(`\\(?:x1b|033|u001b)\[([0-9;]*)([A-Za-z]?)`)

// readableSGR are the attributes of text that are readable on black and on white: reset, bold,
// faint, italic, underline, red, green and magenta.
var readableSGR = []string{"0", "1", "2", "3", "4", "31", "32", "35"}

func TestColors_AreReadableOnLightAndDarkBackground(t *testing.T) {
	t.Parallel()
	colors := 0
	err := fs.WalkDir(os.DirFS("."), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range escapePattern.FindAllStringSubmatch(string(source), -1) {
			switch m[2] {
			case "K": // erases the line
			case "m":
				colors++
				for n := range strings.SplitSeq(m[1], ";") {
					if !slices.Contains(readableSGR, n) {
						t.Errorf("%s: %s is not readable on every background; allowed: %v", path, m[0], readableSGR)
					}
				}
			default: // the test cannot tell which color a composed sequence has
				t.Errorf("%s: write the whole escape sequence %s… in one literal", path, m[0])
			}
		}
		return err
	})
	if err != nil || colors < 10 {
		t.Errorf("found %d attributes (%v), want those of the packages markdown and prose", colors, err)
	}
}

func TestColors_EnvironmentTurnsThemOnAndOff(t *testing.T) {
	t.Parallel()
	s := serve(t, routes())
	for name, tc := range map[string]struct {
		terminal bool
		env      map[string]string
		want     bool
	}{
		"terminal":                    {true, nil, true},
		"pipe":                        {false, nil, false},
		"NO_COLOR":                    {true, map[string]string{"NO_COLOR": "1"}, false},
		"empty NO_COLOR":              {true, map[string]string{"NO_COLOR": ""}, true},
		"dumb terminal":               {true, map[string]string{"TERM": "dumb"}, false},
		"CLICOLOR_FORCE in a pipe":    {false, map[string]string{"CLICOLOR_FORCE": "1"}, true},
		"CLICOLOR_FORCE=0 in a pipe":  {false, map[string]string{"CLICOLOR_FORCE": "0"}, false},
		"CLICOLOR_FORCE and NO_COLOR": {true, map[string]string{"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, true},
	} {
		got := invoke(t, s, environment{terminal: tc.terminal, width: 80, env: tc.env}, "get-task", "APOLLO-17")
		if strings.Contains(got.out, "\x1b[") != tc.want {
			t.Errorf("%s: got %q, want colors: %v", name, got.out, tc.want)
		}
	}
}
