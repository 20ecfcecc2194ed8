#!/bin/sh
# Writes .sqlx anew from a database with the current schema. Run it after any change of a query or a
# migration. DATABASE_URL names a PostgreSQL database that is empty or was made by this script.
set -eu
cd "$(dirname "$0")/.."
: "${DATABASE_URL:?set it to a scratch database, which is emptied}"

psql "$DATABASE_URL" -q -v ON_ERROR_STOP=1 \
    -c 'DROP SCHEMA public CASCADE' -c 'CREATE SCHEMA public' 2>/dev/null
for migration in migrations/*.sql; do
    psql "$DATABASE_URL" -q -v ON_ERROR_STOP=1 -f "$migration"
done

rm -rf .sqlx
mkdir .sqlx
touch src/lib.rs
SQLX_OFFLINE=false SQLX_OFFLINE_DIR="$PWD/.sqlx" DATABASE_URL="$DATABASE_URL" cargo check --quiet
echo "$(find .sqlx -name '*.json' | wc -l) queries written to .sqlx"
