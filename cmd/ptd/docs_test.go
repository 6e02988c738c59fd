package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"parapet/internal/cli"
	"parapet/internal/clock"
)

var (
	docFence    = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")
	docInline   = regexp.MustCompile("`(ptd? [^`\n]+)`")
	docQuoted   = regexp.MustCompile(`'[^']*'|"[^"$]*"`)
	docCall     = regexp.MustCompile(`(?:^|[\s(])(?:\./bin/)?(ptd?) ([^|;&)\n]+)`)
	docFlag     = regexp.MustCompile(`^--[a-z][a-z-]*`)
	docComment  = regexp.MustCompile(`\s{2,}#.*$`)
	docContinue = regexp.MustCompile(`\\\n\s*`)
)

// documentedCalls finds the calls of pt and ptd in a document: in blocks of sh and
// console, and in code spans that start with the name of the program. Quoted text is
// replaced by X.
func documentedCalls(text string) [][2]string {
	var lines []string
	for _, m := range docFence.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(docContinue.ReplaceAllString(m[2], "")) {
			line = strings.TrimRight(line, "\n")
			command, isCommand := strings.CutPrefix(line, "$ ")
			switch {
			case m[1] == "sh":
				lines = append(lines, line)
			case m[1] == "console" && isCommand:
				lines = append(lines, command)
			}
		}
	}
	for _, m := range docInline.FindAllStringSubmatch(docFence.ReplaceAllString(text, ""), -1) {
		lines = append(lines, m[1])
	}
	var calls [][2]string
	for _, line := range lines {
		line = docQuoted.ReplaceAllString(docComment.ReplaceAllString(line, ""), "X")
		for _, m := range docCall.FindAllStringSubmatch(line, -1) {
			calls = append(calls, [2]string{m[1], strings.TrimSpace(m[2])})
		}
	}
	return calls
}

// helpTexts caches the help of each command of pt and ptd.
type helpTexts struct {
	text map[string]string
	ok   map[string]bool
}

func newHelpTexts() helpTexts {
	return helpTexts{text: map[string]string{}, ok: map[string]bool{}}
}

func (h helpTexts) lookup(ctx context.Context, program string, words ...string) (text string, ok bool) {
	key := program + " " + strings.Join(words, " ")
	if _, known := h.text[key]; !known {
		h.text[key], h.ok[key] = printHelp(ctx, program, words...)
	}
	return h.text[key], h.ok[key]
}

// printHelp prints the help of a command, or the topic that follows the word help.
func printHelp(ctx context.Context, program string, words ...string) (text string, ok bool) {
	var out bytes.Buffer
	getenv := func(string) string { return "" }
	if len(words) == 0 || words[0] != "help" {
		words = append(words[:len(words):len(words)], "--help")
	}
	if program == "ptd" {
		ok = run(ctx, words, getenv, streams{strings.NewReader(""), &out, &out}) == 0
		return out.String(), ok
	}
	p := cli.Program{Streams: cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out}, Getenv: getenv, Version: "test", Clock: clock.System{}}
	ok = p.Run(ctx, words) == 0
	return out.String(), ok
}

// checkCall returns the problem of a documented call, or "" if it is valid.
func (h helpTexts) checkCall(ctx context.Context, program, arguments string) string {
	var words, flags []string
	tokens := strings.Fields(arguments)
	for i := 0; i < len(tokens); i++ {
		flag := docFlag.FindString(tokens[i])
		if flag == "" {
			words = append(words, tokens[i])
			continue
		}
		flags = append(flags, flag)
		if len(words) == 0 && !strings.Contains(tokens[i], "=") {
			i++ // the value of a flag before the command
		}
	}
	if len(words) > 0 && strings.HasPrefix(words[0], "<") {
		return ""
	}
	var path []string
	for _, word := range words {
		help, ok := h.lookup(ctx, program, path...)
		if !ok || (path != nil && !strings.Contains(help, "Commands:\n")) {
			break
		}
		if word == "help" {
			// An unknown topic prints the help of the program.
			if topic, ok := h.lookup(ctx, program, words...); !ok || (len(words) > 1 && topic == help) {
				return "there is no such help topic"
			}
			return ""
		}
		if !regexp.MustCompile(`(?m)^  ` + regexp.QuoteMeta(word) + `( |$)`).MatchString(help) {
			return "there is no command " + strings.Join(append(path, word), " ")
		}
		path = append(path, word)
	}
	help, ok := h.lookup(ctx, program, path...)
	if !ok {
		return "there is no command " + strings.Join(path, " ")
	}
	for _, flag := range flags {
		if flag != "--help" && flag != "--version" && !regexp.MustCompile(regexp.QuoteMeta(flag)+`[\s[]`).MatchString(help) {
			return strings.Join(path, " ") + " has no flag " + flag
		}
	}
	return ""
}

// TestDocuments_CommandsAndFlagsExist checks every call of pt and ptd that the
// documents show against the help of the programs.
func TestDocuments_CommandsAndFlagsExist(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	checked, help := map[string]int{}, newHelpTexts()
	for _, path := range append(paths, "../../README.md", "../../CHANGELOG.md", "../../CONTRIBUTING.md", "../../SECURITY.md", "../../policies/README.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range documentedCalls(string(text)) {
			checked[call[0]]++
			if problem := help.checkCall(t.Context(), call[0], call[1]); problem != "" {
				t.Errorf("%s: %s %s: %s", path, call[0], call[1], problem)
			}
		}
	}
	if checked["pt"] < 50 || checked["ptd"] < 20 {
		t.Errorf("found %v calls of pt and ptd, expected at least 50 and 20: do the patterns still match?", checked)
	}
}

func TestDocumentedCalls_FindsCommandsInCode(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"```sh\npassword x | ./bin/pt auth login --email a@b\n```": "pt auth login --email a@b",
		"```console\n$ ptd migrate  # once\nptd output\n```":       "ptd migrate",
		"Run `ptd audit verify`.":                                  "ptd audit verify",
		"```sh\nx=$(pt list-keys --json --jq '.a | .b')\n```":      "pt list-keys --json --jq X",
		"`ptd` and prose about pt and ptd":                         "",
	} {
		var got []string
		for _, call := range documentedCalls(text) {
			got = append(got, call[0]+" "+call[1])
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%q: found %q, want %q", text, got, want)
		}
	}
	help := newHelpTexts()
	for call, want := range map[string]string{
		"pt auth login --email a": "", "pt auth frobnicate": "no command", "pt list-tasks HW --nosuch": "no flag", "pt --profile a api GET /x": "",
		"ptd serve --port 1": "", "ptd audit nosuch": "no command", "ptd dev --nosuch": "no flag", "pt help nosuch": "no such help topic",
	} {
		program, arguments, _ := strings.Cut(call, " ")
		if got := help.checkCall(t.Context(), program, arguments); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", call, got, want)
		}
	}
}
