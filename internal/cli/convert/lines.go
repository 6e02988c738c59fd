package convert

import (
	"bytes"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxLine is the maximum length of a line of JSON in bytes.
const maxLine = 2 << 20

// readLines reads a file with one JSON object per line. Empty lines are not records.
func readLines(data []byte) *File {
	f := &File{}
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		r := Record{Line: number}
		switch {
		case len(line) > maxLine:
			r.Problem = "the line is longer than 2 MiB"
		case !utf8.Valid(line):
			r.Problem = "the line is not valid UTF-8"
		case !jsontext.Value(line).IsValid() || json.Unmarshal(line, &r.Item) != nil:
			r.Problem = "the line must be one valid JSON object"
		default:
			r.Problem = r.Item.Problem()
		}
		f.Records = append(f.Records, r)
	}
	return f
}
