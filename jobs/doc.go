// Package jobs runs background work: River's workers with their schedules, the
// dispatcher of the outbox, and the writer of the decision log.
//
// It guarantees:
//   - Any number of processes can run it on one database. River elects one leader for
//     the schedules and distributes the jobs. One process at a time dispatches events;
//     when it dies, another takes over within seconds.
//   - Workers only call the module that does the work. That work must be idempotent,
//     because an interrupted job is run again; a stuck job is rescued within two minutes.
//   - Stop waits for running jobs until its deadline. Jobs that it interrupts are rolled
//     back.
package jobs
