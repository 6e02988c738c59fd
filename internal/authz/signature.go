package authz

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// SignatureFile is the name of the signature of a policy set: a signed note
// (golang.org/x/mod/sumdb/note) that lists the hash of every file that the engine reads.
const SignatureFile = "policies.sig"

// signatureHeader is the first line of the signed text and contains its version.
const signatureHeader = "parapet policy set v1"

// maxSignature limits the size of a signature file, in bytes.
const maxSignature = 1 << 20

// NewSigningKey creates a key pair: the secret key signs policy sets, the servers verify
// with the public key. name identifies the signer.
func NewSigningKey(name string) (secret, public string, err error) {
	return note.GenerateKey(rand.Reader, name)
}

// CheckPublicKey returns an error if the key is not a valid public key.
func CheckPublicKey(key string) error {
	_, err := note.NewVerifier(key)
	return err
}

// Sign returns the content of SignatureFile for a source, and the revision.
func Sign(source Source, secretKey string) (signature []byte, revision string, err error) {
	signer, err := note.NewSigner(secretKey)
	if err != nil {
		return nil, "", fmt.Errorf("authz: signing key: %w", err)
	}
	c, err := source.read()
	if err != nil {
		return nil, "", err
	}
	signature, err = note.Sign(&note.Note{Text: c.signedText()}, signer)
	if err != nil {
		return nil, "", fmt.Errorf("authz: sign: %w", err)
	}
	return signature, c.revision(), nil
}

// signedText lists every file of the set with its hash. Names are quoted, so the name of a
// file cannot add a line.
func (c *contents) signedText() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n%s\n", signatureHeader, c.revision())
	for _, tree := range []struct {
		folder string
		files  map[string][]byte
	}{{"policies", c.policies}, {"policytests", c.tests}} {
		for _, name := range slices.Sorted(maps.Keys(tree.files)) {
			fmt.Fprintf(&text, "%x %+q\n", sha256.Sum256(tree.files[name]), tree.folder+"/"+name)
		}
	}
	return text.String()
}

// verify verifies the signature of exactly these files and returns the signer. The public
// key comes from the operator, never from the set.
func (c *contents) verify(signature fs.FS, publicKey string) (signer string, err error) {
	verifier, err := note.NewVerifier(publicKey)
	if err != nil {
		return "", fmt.Errorf("authz: invalid public key of the policies: %w", err)
	}
	if signature == nil {
		return "", errors.New("authz: the policy set is not signed, but a signature is required")
	}
	text, err := readRegular(signature, SignatureFile, maxSignature)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("authz: the policy set has no %s, but a signature is required", SignatureFile)
	}
	if err != nil {
		return "", fmt.Errorf("authz: %w", err)
	}
	opened, err := note.Open(text, note.VerifierList(verifier))
	if err != nil {
		return "", fmt.Errorf("authz: %s is not signed by the key %s: %w", SignatureFile, verifier.Name(), err)
	}
	if want := c.signedText(); opened.Text != want {
		return "", fmt.Errorf("authz: %s does not match the policy set: %s", SignatureFile, difference(opened.Text, want))
	}
	return verifier.Name(), nil
}

// difference describes the first line in which the signed list differs from the files that
// were found.
func difference(signed, found string) string {
	signedLines := map[string]bool{}
	for line := range strings.Lines(signed) {
		signedLines[line] = true
	}
	if !strings.HasPrefix(signed, signatureHeader+"\n") {
		return "it signs something other than a policy set"
	}
	// Skip the second line: the revision differs whenever a file does.
	for i, line := range strings.SplitAfter(found, "\n") {
		if i != 1 && line != "" && !signedLines[line] {
			_, name, _ := strings.Cut(strings.TrimSpace(line), " ")
			return name + " was added or changed after signing"
		}
	}
	return "a file was removed after signing"
}
