package tracker

import (
	"crypto/sha256"
	"encoding/hex"

	"parapet/internal/op"
)

// opaqueID stands in the place of an id that the caller may not know. It is the
// same for the same record of the same tenant, so that two children of one
// hidden epic still show as siblings, and it leads nowhere: ids hold too much
// randomness to be found by trying.
func opaqueID(tenant, id op.UUID) op.UUID {
	sum := sha256.Sum256([]byte("parapet redacted\x00" + string(tenant) + "\x00" + string(id)))
	// A version 8 UUID: one whose content its maker defines.
	sum[6] = sum[6]&0x0f | 0x80
	sum[8] = sum[8]&0x3f | 0x80
	h := hex.EncodeToString(sum[:16])
	return op.UUID(h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:])
}
