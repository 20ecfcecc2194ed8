//! Waiting for something to become true, bounded and level-triggered.

use std::time::Duration;

use tokio::time::{interval, timeout};

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(10);
/// When it is given up: far above what a loaded machine needs.
const LIMIT: Duration = Duration::from_secs(20);

/// Looks again and again until `holds` answers true, and fails the test when it never does.
pub(crate) async fn eventually(what: &str, holds: impl AsyncFnMut() -> bool) {
    assert!(within(LIMIT, holds).await, "never came true: {what}");
}

/// Whether `holds` answered true before the limit.
pub(crate) async fn within(limit: Duration, mut holds: impl AsyncFnMut() -> bool) -> bool {
    let looks = async {
        let mut tick = interval(LOOK);
        loop {
            tick.tick().await;
            if holds().await {
                return;
            }
        }
    };
    timeout(limit, looks).await.is_ok()
}

/// Lets time pass: how long a fault lasts, or what lies between two tries. Never a wait for an event.
pub(crate) async fn pause(span: Duration) {
    drop(timeout(span, std::future::pending::<()>()).await);
}
