#!/bin/sh
# Creates the database and its owner, who is not a superuser. The image of PostgreSQL runs this script once,
# before the first start of the server.
set -eu
: "${OWNER_PASSWORD:?set it in database.env}"
psql -v ON_ERROR_STOP=1 -v password="$OWNER_PASSWORD" --username=postgres <<'SQL'
CREATE ROLE parapet_owner LOGIN CREATEROLE PASSWORD :'password';
CREATE DATABASE parapet OWNER parapet_owner;
SQL
