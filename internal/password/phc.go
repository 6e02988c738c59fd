package password

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/crypto/argon2"
)

// hash is a parsed stored hash.
type hash struct {
	params    Params
	salt, key []byte
}

var errInvalidHash = errors.New("password: not an argon2id hash in the PHC string form")

// Upper limits for the parameters of a stored hash, so that a corrupt row cannot make a
// login allocate gigabytes.
const (
	maxMemoryKiB = 1 << 20
	maxPasses    = 16
	maxLanes     = 16
)

// String returns the PHC string format: $argon2id$v=19$m=…,t=…,p=…$salt$key.
func (h hash) String() string {
	enc := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version,
		h.params.MemoryKiB, h.params.Passes, h.params.Lanes, enc.EncodeToString(h.salt), enc.EncodeToString(h.key))
}

// parse parses the format that String writes and rejects any other spelling of it.
func parse(text string) (hash, error) {
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != "v="+strconv.Itoa(argon2.Version) {
		return hash{}, errInvalidHash
	}
	costs := strings.Split(parts[3], ",")
	if len(costs) != 3 {
		return hash{}, errInvalidHash
	}
	memory, err1 := parseCost(costs[0], "m=", maxMemoryKiB)
	passes, err2 := parseCost(costs[1], "t=", maxPasses)
	lanes, err3 := parseCost(costs[2], "p=", maxLanes)
	salt, err4 := base64.RawStdEncoding.Strict().DecodeString(parts[4])
	key, err5 := base64.RawStdEncoding.Strict().DecodeString(parts[5])
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return hash{}, errInvalidHash
	}
	h := hash{params: Params{MemoryKiB: memory, Passes: passes, Lanes: uint8(lanes)}, salt: salt, key: key}
	floor := MinParams()
	if len(salt) < 8 || len(salt) > 64 || len(key) < 16 || len(key) > 64 || h.params.MemoryKiB < floor.MemoryKiB || h.params.Passes < floor.Passes || lanes < 1 {
		return hash{}, errInvalidHash
	}
	// Reject leading zeros, signs, and line breaks in the base64.
	if h.String() != text {
		return hash{}, errInvalidHash
	}
	return h, nil
}

func parseCost(text, prefix string, limit uint64) (uint32, error) {
	digits, ok := strings.CutPrefix(text, prefix)
	if !ok {
		return 0, errInvalidHash
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || n > limit {
		return 0, errInvalidHash
	}
	return uint32(n), nil
}
