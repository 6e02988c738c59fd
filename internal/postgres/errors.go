package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"parapet/internal/fault"
)

// Constraints maps constraint names to the fault that a violation returns. Each
// module has one for its tables.
type Constraints map[string]*fault.Error

// MapError turns a database error into a fault. It returns faults and nil
// unchanged. A violated constraint is looked up in known; the first match wins. An
// unknown unique or foreign key constraint becomes a CONFLICT that reveals nothing about
// the row. Temporary server errors become UNAVAILABLE with a RetryAfter; all other
// errors become INTERNAL.
func MapError(err error, known ...Constraints) error {
	if err == nil {
		return nil
	}
	var f *fault.Error
	if errors.As(err, &f) {
		return err
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return fault.NotFound("record").WithCause(err)
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return mapServerError(err, pg, known)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		f := fault.Unavailable(err).WithReason(ReasonTimeout)
		f.Message = "The request took longer than PT_REQUEST_TIMEOUT_SECONDS in the database. Try again shortly."
		return f
	}
	if isUnreachable(err) {
		return fault.Unavailable(err)
	}
	return fault.Internal(err)
}

// raceRetryDelay is the RetryAfter of deadlocks, serialization failures and lock timeouts.
const raceRetryDelay = time.Second

func mapServerError(err error, pg *pgconn.PgError, known []Constraints) error {
	if pg.ConstraintName != "" {
		for _, k := range known {
			if f, ok := k[pg.ConstraintName]; ok {
				return f.WithCause(err)
			}
		}
	}
	switch pg.Code {
	case "23505": // unique_violation
		return fault.Conflict("A record with these values already exists.").WithCause(err)
	case "23503": // foreign_key_violation
		return fault.Conflict("The record refers to, or is referred to by, another record.").WithCause(err)
	case "22P02", "22003", "22007", "22008", "22021", "22P05":
		// invalid text, out of range, invalid date, date out of range, invalid
		// bytes (NUL), untranslatable character: the values came with the request.
		return fault.Validation("", "A value has the wrong format or is out of range.").WithCause(err)
	case "40001", "40P01": // serialization_failure, deadlock_detected
		f := fault.Unavailable(err)
		f.RetryAfter = raceRetryDelay
		return f
	case "55P03": // lock_not_available
		f := fault.Unavailable(err).WithReason(ReasonLocked)
		f.Message = "Another change has locked this record for longer than PT_LOCK_TIMEOUT_MS. Try again shortly."
		f.RetryAfter = raceRetryDelay
		return f
	case "53300", "53400", "57014", "57P01", "57P02", "57P03", "57P05", "25P03", "25006":
		// too many connections, limits, cancelled, shutting down or starting up,
		// idle session ended, idle transaction ended, read-only (a standby)
		if pg.Code == "25006" && !strings.Contains(pg.Message, "recovery") {
			// Not a standby but a read that tried to write: a bug.
			return fault.Internal(err)
		}
		return fault.Unavailable(err)
	}
	if strings.HasPrefix(pg.Code, "08") || strings.HasPrefix(pg.Code, "53") {
		return fault.Unavailable(err)
	}
	return fault.Internal(err)
}

// isUnreachable reports whether the error concerns the connection to the server or a
// deadline, not the statement.
func isUnreachable(err error) bool {
	var connect *pgconn.ConnectError
	var network net.Error
	switch {
	case errors.As(err, &connect), errors.As(err, &network):
		return true
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return true
	case errors.Is(err, net.ErrClosed), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, puddle.ErrClosedPool):
		return true
	}
	// pgx does not export the error for a connection that was cut during an earlier
	// statement.
	return strings.Contains(err.Error(), "conn closed")
}
