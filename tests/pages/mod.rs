//! The pages of docs/ that a test makes and holds to what they describe.

use std::path::Path;

/// Fails where the page is not `expected`; writes it instead where that was asked for.
pub(crate) fn assert_page(name: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("docs")
        .join(name);
    if std::env::var("INSTA_UPDATE").is_ok_and(|asked| asked == "always") {
        std::fs::write(&path, expected).unwrap_or_else(|error| panic!("docs/{name}: {error}"));
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "docs/{name} is stale, make it again with `just snapshots`, or INSTA_UPDATE=always cargo test"
    );
}
