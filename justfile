# A convenience: nothing in the README needs `just`.

# Lists the recipes.
default:
    @just --list

# Writes .sqlx anew; DATABASE_URL names a scratch database, which is emptied.
sqlx-prepare:
    tools/sqlx-prepare.sh
