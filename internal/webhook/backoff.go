package webhook

import (
	"math/rand/v2"
	"time"
)

// giveUpAfter is how long a delivery is tried, and after which a webhook without a success is
// disabled.
const giveUpAfter = 24 * time.Hour

// waits are the times between the attempts of a delivery, 23.7 hours in total.
var waits = [...]time.Duration{
	5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 8 * time.Hour,
}

// waitAfter returns the wait after the n-th attempt of a delivery, n from 1, without jitter.
func waitAfter(attempts int) time.Duration { return waits[min(max(attempts, 1), len(waits))-1] }

// nextAttempt returns when to try a delivery again after its n-th attempt failed. ok is false
// if it has failed finally. The receiver can ask for a longer wait with retryAfter.
func nextAttempt(now, first time.Time, attempts int, retryAfter time.Duration) (at time.Time, ok bool) {
	end := first.Add(giveUpAfter)
	if attempts > len(waits) || !now.Before(end) {
		return time.Time{}, false
	}
	at = now.Add(max(jitter(waitAfter(attempts)), retryAfter))
	if at.After(end) {
		at = end
	}
	return at, true
}

// jitter changes a duration by up to a tenth, so that deliveries that failed together are not
// tried again together.
func jitter(d time.Duration) time.Duration {
	return d + time.Duration((rand.Float64()-0.5)/5*float64(d)) //nolint:gosec // no secret
}

const (
	// pauseAfter is the number of consecutive failures of a webhook after which it pauses.
	pauseAfter    = 3
	firstPause    = 30 * time.Second
	longestPause  = 30 * time.Minute
	maxRetryAfter = time.Hour
)

// pause returns how long a webhook pauses after a number of consecutive failures. After the
// pause, one delivery is tried.
func pause(failures int) time.Duration {
	if failures < pauseAfter {
		return 0
	}
	return min(firstPause<<min(failures-pauseAfter, 10), longestPause)
}
