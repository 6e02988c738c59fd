// Package embedded runs a PostgreSQL server for `ptd dev` and for tests.
//
// It guarantees:
//   - A data folder has one server. The process that gets an flock starts it; the others
//     connect to it.
//   - The server ends with the process that owns it, even if that process is killed. The
//     next start removes what a killed process left.
//   - The server listens only on a unix socket in a folder of mode 0700, with trust
//     authentication, so access to the folder is access to the database.
//   - If the process runs as root, which PostgreSQL rejects, the server runs as an
//     unprivileged user.
package embedded
