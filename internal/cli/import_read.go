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

// maxLine is the longest line that is taken; a longer one is skipped and told.
const maxLine = 2 << 20

// numberedItem is an item with the number of its line, from 1, and its size.
type numberedItem struct {
	item  tracker.ImportItem
	line  int
	bytes int
}

// itemReader reads items from a file with one JSON object a line.
type itemReader struct {
	r     *bufio.Reader
	line  int
	bytes int64
}

func newItemReader(r io.Reader) *itemReader {
	return &itemReader{r: bufio.NewReaderSize(r, 64<<10)}
}

// next gives the next item, or what is wrong with its line. Empty lines are
// passed over; io.EOF ends the file.
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
	if !isItem(line, &n.item) {
		return n, "the line is not one valid JSON object", nil
	}
	return n, n.item.Problem(), nil
}

// isItem reads the line as an item; false where it is not one JSON object.
func isItem(line []byte, into *tracker.ImportItem) bool {
	return jsontext.Value(line).IsValid() && json.Unmarshal(line, into) == nil
}

// readLine gives a line without its end. Of one that is too long only the fact
// is kept.
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
