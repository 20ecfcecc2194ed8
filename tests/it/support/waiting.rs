//! Waiting for something to become true, bounded and level-triggered.

use std::time::Duration;

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(10);
/// When it is given up: far above what a loaded machine needs.
const LIMIT: Duration = Duration::from_secs(20);

/// Looks again and again until `holds` answers true, and fails the test when it never does.
pub(crate) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let looks = async {
        let mut tick = tokio::time::interval(LOOK);
        loop {
            tick.tick().await;
            if holds().await {
                return;
            }
        }
    };
    let came_true = tokio::time::timeout(LIMIT, looks).await.is_ok();
    assert!(came_true, "never came true: {what}");
}
