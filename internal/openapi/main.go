// Command openapi writes the OpenAPI document of all modules to standard output. A server
// with all modules serves the same document at /openapi.json.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parapet/internal/contract"
	"parapet/internal/op"
)

func main() {
	if err := write(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}

// write encodes the document as JSON. The version 0.0.0 stands for the version of the server.
func write(w io.Writer) error {
	doc, err := op.OpenAPI("Parapet", "0.0.0", contract.Operations())
	if err != nil {
		return err
	}
	if err := json.MarshalWrite(w, doc, json.Deterministic(true), jsontext.WithIndent("  ")); err != nil {
		return err
	}
	_, err = io.WriteString(w, "\n")
	return err
}
