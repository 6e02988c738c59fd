package audit

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"

	"parapet/internal/op"
	"parapet/internal/postgres"
)

// checkpointHeader is the first line of a checkpoint. It includes the format version.
const checkpointHeader = "parapet audit checkpoint v1"

// NewCheckpointKey creates a key pair: the secret key signs checkpoints, the public key
// verifies them. name identifies the installation.
func NewCheckpointKey(name string) (secret, public string, err error) {
	return note.GenerateKey(rand.Reader, name)
}

// CheckCheckpointKey returns an error unless the key can sign checkpoints.
func CheckCheckpointKey(key string) error {
	_, err := note.NewSigner(key)
	return err
}

// VerificationError is returned if no checkpoint was signed because the chains or the last
// checkpoint failed verification. A new signature would make a manipulated chain look
// valid.
type VerificationError struct{ Problems []Problem }

// Error implements error.
func (e *VerificationError) Error() string {
	return fmt.Sprintf("audit: no checkpoint was signed: found %d problems, first: %s", len(e.Problems), e.Problems[0])
}

// Checkpoint verifies every chain, compares it with the last checkpoint in the folder
// (if any), and then signs the state of all chains and writes it to the folder as a new
// checkpoint. A checkpoint is a signed note of golang.org/x/mod/sumdb/note. Its lines are
// the header, the time, and for each chain "<chain> <size> <base64 of the head's hash>". The
// file is named after the time and is written atomically. Verification and signature use
// the same snapshot of the database.
//
// If a chain fails verification, Checkpoint returns a *VerificationError and writes nothing.
// pool must use parapet_jobs; key is the secret key, which must also have signed the last
// checkpoint.
func Checkpoint(ctx context.Context, pool *postgres.Pool, key, dir string, now time.Time) error {
	signer, err := note.NewSigner(key)
	if err != nil {
		return fmt.Errorf("audit: checkpoint key: %w", err)
	}
	last, problems, err := CheckpointFolder{dir, key}.last(now)
	if err != nil {
		return err
	}
	var heads []head
	err = snapshot(ctx, pool, func(tx postgres.Querier) error {
		report, err := verify(ctx, tx, "", nil)
		if err != nil {
			return err
		}
		problems = append(problems, report.Problems...)
		differences, err := compareWithCheckpoints(ctx, tx, last)
		if err != nil {
			return err
		}
		problems = append(problems, differences...)
		heads, err = postgres.Collect[head](ctx, tx, headsSQL, postgres.Args{"chain": (*op.UUID)(nil)})
		return postgres.MapError(err)
	})
	switch {
	case err != nil:
		return err
	case len(problems) > 0:
		return &VerificationError{problems}
	}
	slices.SortFunc(heads, func(a, b head) int { return strings.Compare(string(a.Chain), string(b.Chain)) })
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n%s\n", checkpointHeader, now.UTC().Format(time.RFC3339))
	for _, h := range heads {
		fmt.Fprintf(&text, "%s %d %s\n", h.Chain, h.Seq, base64.StdEncoding.EncodeToString(h.Hash))
	}
	signed, err := note.Sign(&note.Note{Text: text.String()}, signer)
	if err != nil {
		return fmt.Errorf("audit: checkpoint: %w", err)
	}
	return writeFileAtomically(filepath.Join(dir, checkpointName(now)), signed)
}

// publicKey returns the public key of a secret key.
func publicKey(secret string) (string, error) {
	// "PRIVATE+KEY+<name>+<hash>+<base64 of algorithm and seed>"
	fields := strings.SplitN(secret, "+", 5)
	if len(fields) != 5 {
		return "", errors.New("the key is not a signing key")
	}
	seed, err := base64.StdEncoding.DecodeString(fields[4])
	if err != nil || len(seed) != 1+ed25519.SeedSize {
		return "", errors.New("the key is not a signing key")
	}
	public, ok := ed25519.NewKeyFromSeed(seed[1:]).Public().(ed25519.PublicKey)
	if !ok {
		return "", errors.New("the key is not a signing key")
	}
	return note.NewEd25519VerifierKey(fields[2], public)
}

// writeFileAtomically writes and syncs a temporary file and renames it.
func writeFileAtomically(path string, content []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".checkpoint-*")
	if err != nil {
		return fmt.Errorf("audit: checkpoint: %w", err)
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
			err = fmt.Errorf("audit: checkpoint: %w", err)
		}
	}()
	if _, err = f.Write(content); err != nil {
		return err
	}
	if err = f.Chmod(0o644); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Signed is the content of a checkpoint.
type Signed struct {
	// File is the name of the checkpoint's file.
	File  string
	Time  time.Time
	Heads []SignedHead
}

// SignedHead is the last entry of one chain at the time of the checkpoint.
type SignedHead struct {
	Chain op.UUID
	Size  int64
	Hash  []byte
}

// ReadCheckpoint reads a checkpoint and verifies that one of the keys signed it.
func ReadCheckpoint(file []byte, publicKeys ...string) (Signed, error) {
	verifiers := make([]note.Verifier, len(publicKeys))
	for i, key := range publicKeys {
		var err error
		if verifiers[i], err = note.NewVerifier(key); err != nil {
			return Signed{}, fmt.Errorf("audit: checkpoint key: %w", err)
		}
	}
	n, err := note.Open(file, note.VerifierList(verifiers...))
	if err != nil {
		return Signed{}, fmt.Errorf("audit: the checkpoint was not signed with this key: %w", err)
	}
	return parseCheckpoint(n.Text)
}

// parseCheckpoint parses the text of a checkpoint whose signature was verified.
func parseCheckpoint(text string) (Signed, error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) < 2 || lines[0] != checkpointHeader {
		return Signed{}, fmt.Errorf("audit: the file is signed but is not a checkpoint")
	}
	at, err := time.Parse(time.RFC3339, lines[1])
	if err != nil {
		return Signed{}, fmt.Errorf("audit: checkpoint: %w", err)
	}
	s := Signed{Time: at}
	for _, line := range lines[2:] {
		fields := strings.Split(line, " ")
		if len(fields) != 3 {
			return Signed{}, fmt.Errorf("audit: checkpoint: invalid line %.80q", line)
		}
		chain, chainErr := op.ParseUUID(fields[0])
		size, sizeErr := strconv.ParseInt(fields[1], 10, 64)
		hash, hashErr := base64.StdEncoding.DecodeString(fields[2])
		if chainErr != nil || sizeErr != nil || hashErr != nil || size < 0 || len(hash) != sha256.Size {
			return Signed{}, fmt.Errorf("audit: checkpoint: invalid line %.80q", line)
		}
		s.Heads = append(s.Heads, SignedHead{chain, size, hash})
	}
	return s, nil
}
