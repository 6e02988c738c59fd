// Command sbom writes a CycloneDX 1.6 bill of materials next to each Go binary it is given. It reads the
// build information in the binary, so the bill lists the modules that were actually linked.
package main

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(_ context.Context, binaries []string, out io.Writer) error {
	if len(binaries) == 0 {
		return fmt.Errorf("pass at least one binary")
	}
	for _, path := range binaries {
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		sum, err := fileHash(path)
		if err != nil {
			return err
		}
		text, err := json.MarshalIndent(newBill(filepath.Base(path), sum, info), "", "  ")
		if err != nil {
			return err
		}
		target := path + ".cdx.json"
		if err := os.WriteFile(target, append(text, '\n'), 0o644); err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %d components\n", target, len(info.Deps)+1)
	}
	return nil
}

type document struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref,omitempty"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	PURL    string `json:"purl,omitempty"`
	Hashes  []hash `json:"hashes,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

// newBill returns the bill of materials of a binary. It contains no time and no serial
// number, so equal builds have equal bills.
func newBill(name, sum string, info *debug.BuildInfo) document {
	doc := document{
		Format:  "CycloneDX",
		Spec:    "1.6",
		Version: 1,
		Metadata: metadata{Component: component{
			Type:    "application",
			Name:    name,
			Version: info.Main.Version,
			Hashes:  []hash{{Algorithm: "SHA-256", Content: sum}},
		}},
	}
	toolchain := strings.TrimPrefix(info.GoVersion, "go")
	doc.Components = append(doc.Components, library("std", toolchain))
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		doc.Components = append(doc.Components, library(dep.Path, dep.Version))
	}
	return doc
}

func library(path, version string) component {
	// The only character of a module version that a package URL must escape is the plus sign of +incompatible.
	purl := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	return component{Type: "library", Ref: purl, Name: path, Version: version, PURL: purl}
}

func fileHash(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
