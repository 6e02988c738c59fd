// Package embedded runs a Postgres server of our own for `ptd dev` and for tests.
//
// It promises: a data folder has one server, whoever starts it and however often
// (an flock decides; the others attach); a server does not outlive the process
// that owns it, also when that is killed; what a killed process left behind is
// cleared away on the next start; the server listens on a unix socket in a folder
// of mode 0700 and nowhere else, with trust authentication, so that who may enter
// the folder may enter the database. Postgres refuses to run as root: for root
// it runs as an unprivileged user.
package embedded
