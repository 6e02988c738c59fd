package cli

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"

	"parapet/internal/cli/text"
)

// exportWriter writes the lines of an export and counts them.
type exportWriter struct {
	out   *bufio.Writer
	count int
	// onPage, if set, is called after each page of lines.
	onPage func(count int)
}

// writeLine writes one item on its own line.
func (w *exportWriter) writeLine(line []byte) error {
	w.count++
	if w.onPage != nil && w.count%maxPage == 0 {
		w.onPage(w.count)
	}
	_, err := w.out.Write(append(line, '\n'))
	return err
}

// writeExport writes an export to standard output if name is empty or -, or else atomically to
// a file. noun is the plural of what a line contains, for the message.
func (inv *invocation) writeExport(name, noun string, write func(*exportWriter) error) error {
	if name == "" || name == "-" {
		w := &exportWriter{out: bufio.NewWriterSize(inv.Out, 64<<10)}
		return errors.Join(write(w), w.out.Flush())
	}
	n, err := inv.replaceFile(name, noun, write)
	if err == nil {
		inv.printNote("%s written to %s", countOf(n, noun), text.Line(name))
	}
	return err
}

// replaceFile writes the file atomically and returns the number of lines. Only the owner can
// read the file, because an export may be classified.
func (inv *invocation) replaceFile(name, noun string, write func(*exportWriter) error) (int, error) {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return 0, usage(err)
	}
	defer os.Remove(f.Name())
	w := &exportWriter{out: bufio.NewWriterSize(io.Writer(f), 64<<10), onPage: func(n int) { inv.showProgress("%s", countOf(n, noun)) }}
	err = errors.Join(write(w), w.out.Flush())
	inv.clearProgress()
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return 0, err
	}
	return w.count, os.Rename(f.Name(), name)
}
