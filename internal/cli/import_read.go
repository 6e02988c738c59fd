package cli

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parapet/internal/contract/tracker"
)

// maxLine is the maximum length of a line in bytes. A longer line is reported as a
// failure.
const maxLine = 2 << 20

// numberedItem is an item with its line number, counted from 1, and its size in bytes.
type numberedItem struct {
	item  tracker.ImportItem
	line  int
	bytes int
}

// itemReader reads items from a file with one JSON object per line.
type itemReader struct {
	r     *bufio.Reader
	line  int
	bytes int64
}

func newItemReader(r io.Reader) *itemReader {
	return &itemReader{r: bufio.NewReaderSize(r, 64<<10)}
}

// next returns the next item, or a message about its invalid line. It skips empty lines
// and returns io.EOF at the end of the file.
func (ir *itemReader) next() (numberedItem, string, error) {
	for {
		line, tooLong, err := ir.readLine()
		if err != nil {
			return numberedItem{}, "", err
		}
		if ir.line == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		trimmed := bytes.TrimSpace(line)
		if len(trimmed) == 0 && !tooLong {
			continue
		}
		n := numberedItem{line: ir.line, bytes: len(trimmed)}
		if tooLong {
			return n, "the line is longer than 2 MiB", nil
		}
		return ir.parse(n, trimmed)
	}
}

func (ir *itemReader) parse(n numberedItem, line []byte) (numberedItem, string, error) {
	if !utf8.Valid(line) {
		return n, "the line is not valid UTF-8", nil
	}
	if !parseItem(line, &n.item) {
		return n, "the line must be one valid JSON object", nil
	}
	return n, n.item.Problem(), nil
}

// parseItem parses a line and reports whether it is a JSON object.
func parseItem(line []byte, into *tracker.ImportItem) bool {
	return jsontext.Value(line).IsValid() && json.Unmarshal(line, into) == nil
}

// readLine returns the next line. If the line is too long, it discards the content and
// returns tooLong.
func (ir *itemReader) readLine() (line []byte, tooLong bool, err error) {
	for {
		part, err := ir.r.ReadSlice('\n')
		ir.bytes += int64(len(part))
		if len(line)+len(part) > maxLine {
			tooLong, line = true, nil
		}
		if !tooLong {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			if len(line) == 0 && !tooLong {
				return nil, false, io.EOF
			}
		case err != nil:
			return nil, false, err
		}
		ir.line++
		return line, tooLong, nil
	}
}
