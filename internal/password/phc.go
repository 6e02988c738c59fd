package password

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/crypto/argon2"
)

// hash is a stored hash, taken apart.
type hash struct {
	params    Params
	salt, key []byte
}

var errForm = errors.New("password: not an argon2id hash in the PHC string form")

// The bounds within which a stored hash is believed: a damaged row must not
// make a login allocate gigabytes.
const (
	maxMemoryKiB = 1 << 20
	maxPasses    = 16
	maxLanes     = 16
)

// String gives the PHC string form: $argon2id$v=19$m=…,t=…,p=…$salt$key.
func (h hash) String() string {
	enc := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version,
		h.params.MemoryKiB, h.params.Passes, h.params.Lanes, enc.EncodeToString(h.salt), enc.EncodeToString(h.key))
}

// parse reads exactly what String writes.
func parse(text string) (hash, error) {
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != "v="+strconv.Itoa(argon2.Version) {
		return hash{}, errForm
	}
	costs := strings.Split(parts[3], ",")
	if len(costs) != 3 {
		return hash{}, errForm
	}
	memory, err1 := cost(costs[0], "m=", maxMemoryKiB)
	passes, err2 := cost(costs[1], "t=", maxPasses)
	lanes, err3 := cost(costs[2], "p=", maxLanes)
	salt, err4 := base64.RawStdEncoding.Strict().DecodeString(parts[4])
	key, err5 := base64.RawStdEncoding.Strict().DecodeString(parts[5])
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return hash{}, errForm
	}
	h := hash{params: Params{MemoryKiB: memory, Passes: passes, Lanes: uint8(lanes)}, salt: salt, key: key}
	floor := MinParams()
	if len(salt) < 8 || len(salt) > 64 || len(key) < 16 || len(key) > 64 || h.params.MemoryKiB < floor.MemoryKiB || h.params.Passes < floor.Passes || lanes < 1 {
		return hash{}, errForm
	}
	// One spelling only: no leading zeros, no signs, no line breaks in the base64.
	if h.String() != text {
		return hash{}, errForm
	}
	return h, nil
}

func cost(text, prefix string, limit uint64) (uint32, error) {
	digits, ok := strings.CutPrefix(text, prefix)
	if !ok {
		return 0, errForm
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || n > limit {
		return 0, errForm
	}
	return uint32(n), nil
}
