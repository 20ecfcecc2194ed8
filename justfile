# A convenience: nothing needs `just`.

# Lists the recipes.
default:
    @just --list --unsorted

# Formats the source.
fmt:
    cargo fmt

# Checks format, lints and protos.
lint:
    cargo fmt --check
    cargo clippy --all-targets -- -D warnings
    buf lint

# Runs all tests.
test *arguments:
    cargo test {{ arguments }}

# Tortures two servers, their database and their runtimes for so many minutes: see docs/PROOF.md.
torture minutes:
    HANDOFFD_TORTURE_MINUTES={{ minutes }} cargo test --test it faults::torture -- --nocapture

# Lets two servers live under steady work for so many minutes, and judges what grows: see docs/PROOF.md.
soak minutes="60":
    HANDOFFD_SOAK_MINUTES={{ minutes }} cargo test --test it faults::soak -- --nocapture

# Plays random games against the models for so many minutes: `just model 1000000` does not end.
model minutes:
    HANDOFFD_MODEL_MINUTES={{ minutes }} cargo test --lib model::
    HANDOFFD_MODEL_MINUTES={{ minutes }} cargo test --test it model::

# Tries random ids, tokens, texts and JSON for so many minutes.
fuzz minutes:
    HANDOFFD_FUZZ_MINUTES={{ minutes }} cargo test --lib fuzz::

# Measures: `just bench floor`.
bench *arguments:
    cargo run --release -- bench {{ arguments }}

# Checks the protos, also against the newest release.
proto:
    buf lint
    tag=$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null) || exit 0; buf breaking --against "$(git rev-parse --git-common-dir)#tag=$tag"

# Makes .sqlx again.
sqlx-prepare:
    tools/sqlx-prepare.sh

# Takes what tests produce as their snapshots; look at the difference before committing it.
snapshots:
    INSTA_UPDATE=always cargo test
    git diff --stat

# Builds the documentation of the source.
docs:
    RUSTDOCFLAGS='-D warnings' cargo doc --no-deps

# What CI runs, word for word.
ci:
    .ci/run
