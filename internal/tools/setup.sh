#!/usr/bin/env bash
# Installs programs that Go cannot provide: `setup.sh postgres`, `setup.sh cc`, `setup.sh make`, `setup.sh promtool`.
# It skips programs that are installed. It installs missing ones only as root on Debian and its derivatives;
# elsewhere it prints what to install. It does not create or start a database cluster.
set -euo pipefail

have_postgres() {
  if [ -n "${DATABASE_URL:-}" ]; then return 0; fi
  if [ -n "${PT_POSTGRES_BIN:-}" ]; then return 0; fi
  if command -v postgres >/dev/null 2>&1 && command -v initdb >/dev/null 2>&1; then return 0; fi
  local dir
  for dir in /usr/lib/postgresql/*/bin /opt/homebrew/opt/postgresql@*/bin /usr/local/opt/postgresql@*/bin; do
    if [ -x "$dir/initdb" ] && [ -x "$dir/postgres" ]; then return 0; fi
  done
  return 1
}

have_cc() { command -v cc >/dev/null 2>&1 || command -v gcc >/dev/null 2>&1 || command -v clang >/dev/null 2>&1; }

have_promtool() { command -v promtool >/dev/null 2>&1; }

have_make() { command -v make >/dev/null 2>&1; }

install_package() {
  local what=$1 package=$2
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "setup: $what is missing and cannot be installed automatically; install it (Debian, Ubuntu: $package)" >&2
    return 0
  fi
  echo "setup: installing $package" >&2
  export DEBIAN_FRONTEND=noninteractive
  # Debian's postgresql package creates and starts a cluster during the installation unless it is configured not to.
  if [ "$package" = postgresql ] && [ ! -e /etc/postgresql-common/createcluster.conf ]; then
    mkdir -p /etc/postgresql-common
    printf 'create_main_cluster = false\nstart_conf = manual\n' >/etc/postgresql-common/createcluster.conf
  fi
  local log
  log=$(mktemp)
  if ! { apt-get update -qq && apt-get install -y -qq --no-install-recommends \
    -o Dpkg::Options::=--force-confold "$package"; } >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    echo "setup: $package could not be installed" >&2
    return 0 # the programs that need it report the error
  fi
  rm -f "$log"
}

for what in "$@"; do
  case "$what" in
    postgres) have_postgres || install_package PostgreSQL postgresql ;;
    cc) have_cc || install_package "a C compiler (the race detector needs one)" gcc ;;
    make) have_make || install_package make make ;;
    promtool) have_promtool || install_package promtool prometheus ;;
    *) echo "setup: unknown program $what (postgres, cc, make, promtool)" >&2; exit 64 ;;
  esac
done
