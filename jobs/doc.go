// Package jobs owns what runs outside of a request: River's workers and their
// schedules, and beside them, started and stopped together, the dispatcher of the
// outbox and the writer of the decision log.
//
// It promises:
//   - Any number of processes run it on one database. River elects one leader for
//     the schedules and spreads the jobs; one process at a time dispatches events,
//     and another takes over within seconds when it dies, however it dies.
//   - A worker is thin: it calls what owns the work. Whatever it does it may be
//     asked to do again, because a job that was cut off is run anew; a stuck job
//     is rescued within two minutes.
//   - Stop waits for what is under way, within the time it is given, and what it
//     cuts off is as if it had not begun.
package jobs
