package audit

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
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

// checkpointHeader is the first line of a checkpoint's text, and its version.
const checkpointHeader = "parapet audit checkpoint v1"

// NewCheckpointKey makes a key pair: the secret one signs checkpoints, the public
// one is for whoever verifies them. name tells the installation.
func NewCheckpointKey(name string) (secret, public string, err error) {
	return note.GenerateKey(rand.Reader, name)
}

// CheckCheckpointKey tells whether the key can sign checkpoints.
func CheckCheckpointKey(key string) error {
	_, err := note.NewSigner(key)
	return err
}

// Checkpoint signs the state of every chain and writes it to a file: a signed
// note of golang.org/x/mod/sumdb/note, whose lines are the header, the time, and
// for each chain "<chain> <size> <base64 of the head's hash>". The file appears
// whole or not at all. pool is parapet_jobs'; key is the secret key.
func Checkpoint(ctx context.Context, pool *postgres.Pool, key, path string, now time.Time) error {
	signer, err := note.NewSigner(key)
	if err != nil {
		return fmt.Errorf("audit: checkpoint key: %w", err)
	}
	heads, err := postgres.Collect[head](ctx, pool, sqlHeads, postgres.Args{"chain": (*op.UUID)(nil)})
	if err != nil {
		return postgres.MapError(err)
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
	return writeWhole(path, signed)
}

// writeWhole writes a file under another name first, flushes it, and renames it.
func writeWhole(path string, content []byte) (err error) {
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

// Signed is what a checkpoint says.
type Signed struct {
	Time  time.Time
	Heads []SignedHead
}

// SignedHead is the end of one chain at the checkpoint's time.
type SignedHead struct {
	Chain op.UUID
	Size  int64
	Hash  []byte
}

// ReadCheckpoint reads a checkpoint that the holder of the key has signed.
func ReadCheckpoint(file []byte, publicKey string) (Signed, error) {
	verifier, err := note.NewVerifier(publicKey)
	if err != nil {
		return Signed{}, fmt.Errorf("audit: checkpoint key: %w", err)
	}
	n, err := note.Open(file, note.VerifierList(verifier))
	if err != nil {
		return Signed{}, fmt.Errorf("audit: the checkpoint is not one that this key signed: %w", err)
	}
	return parseCheckpoint(n.Text)
}

// parseCheckpoint reads the text of a checkpoint whose signature is good.
func parseCheckpoint(text string) (Signed, error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) < 2 || lines[0] != checkpointHeader {
		return Signed{}, fmt.Errorf("audit: the file is signed but is no checkpoint")
	}
	at, err := time.Parse(time.RFC3339, lines[1])
	if err != nil {
		return Signed{}, fmt.Errorf("audit: checkpoint: %w", err)
	}
	s := Signed{Time: at}
	for _, line := range lines[2:] {
		fields := strings.Split(line, " ")
		if len(fields) != 3 {
			return Signed{}, fmt.Errorf("audit: checkpoint: the line %.80q is not one", line)
		}
		chain, cerr := op.ParseUUID(fields[0])
		size, serr := strconv.ParseInt(fields[1], 10, 64)
		hash, herr := base64.StdEncoding.DecodeString(fields[2])
		if cerr != nil || serr != nil || herr != nil || size < 0 || len(hash) != sha256.Size {
			return Signed{}, fmt.Errorf("audit: checkpoint: the line %.80q is not one", line)
		}
		s.Heads = append(s.Heads, SignedHead{chain, size, hash})
	}
	return s, nil
}

const sqlHashAt = `SELECT hash FROM audit.entries WHERE chain_id = @chain AND seq = @seq`

// VerifyCheckpoint verifies all chains and holds them against a checkpoint: each
// must still have the entry at which it ended then, with the same hash, and so
// everything before it. So a cut tail and a chain that was rewritten as a whole
// are seen with nothing but the file and the public key.
func VerifyCheckpoint(ctx context.Context, pool *postgres.Pool, file []byte, publicKey string, progress func(int64)) (Report, error) {
	signed, err := ReadCheckpoint(file, publicKey)
	if err != nil {
		return Report{}, err
	}
	var report Report
	err = snapshot(ctx, pool, func(tx postgres.Querier) error {
		var err error
		if report, err = verify(ctx, tx, "", progress); err != nil {
			return err
		}
		for _, h := range signed.Heads {
			if h.Size == 0 {
				continue
			}
			var hash []byte
			err := tx.QueryRow(ctx, sqlHashAt, postgres.Args{"chain": h.Chain, "seq": h.Size}).Scan(&hash)
			switch {
			case postgres.IsNoRows(err):
				report.Problems = append(report.Problems, Problem{
					Chain: h.Chain, Seq: h.Size,
					What: fmt.Sprintf("missing: the checkpoint of %s says that there were %d entries", signed.Time.Format(time.RFC3339), h.Size),
				})
			case err != nil:
				return postgres.MapError(err)
			case !bytes.Equal(hash, h.Hash):
				report.Problems = append(report.Problems, Problem{
					Chain: h.Chain, Seq: h.Size,
					What: fmt.Sprintf("it is not the entry that the checkpoint of %s signed", signed.Time.Format(time.RFC3339)),
				})
			}
		}
		return nil
	})
	return report, err
}
