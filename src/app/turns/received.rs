//! When runtimes last asked for turns: lazy marks, each moved once in a few seconds of database time.

use std::collections::HashMap;
use std::time::Duration;

use crate::app::error::chain;
use crate::domain::ids::Namespace;
use crate::domain::time::Timestamp;
use crate::store::runtimes;
use crate::store::session::Session;

/// How old a mark may become while its runtime asks.
const PERIOD: Duration = Duration::from_secs(5);
/// Marks remembered; beyond that all are forgotten, which costs a statement each.
const MARKS: usize = 65_536;

/// What this server marked lately.
#[derive(Debug, Default)]
pub(super) struct Received {
    marks: HashMap<(Namespace, String), Timestamp>,
}

impl Received {
    /// Marks those of `runtimes` that are due, in one statement. A mark is worth no claim: a failure is
    /// only logged.
    pub(super) async fn mark(
        &mut self,
        session: &mut Session,
        namespace: &Namespace,
        runtimes: impl Iterator<Item = &String>,
        now: Timestamp,
    ) {
        let due: Vec<String> = runtimes
            .filter(|runtime| self.is_due(namespace, runtime, now))
            .cloned()
            .collect();
        if due.is_empty() || session.is_broken() {
            return;
        }
        match runtimes::mark_received(session, namespace, &due).await {
            Ok(marks) => {
                let marks = marks.into_iter();
                self.marks
                    .extend(marks.map(|(id, time)| ((namespace.clone(), id), time)));
            }
            Err(error) => {
                tracing::warn!(error = %chain(&error), "cannot note which runtimes ask for turns");
            }
        }
    }

    fn is_due(&mut self, namespace: &Namespace, runtime: &str, now: Timestamp) -> bool {
        if self.marks.len() >= MARKS {
            self.marks.clear();
        }
        let mark = self
            .marks
            .entry((namespace.clone(), runtime.to_owned()))
            .or_insert(Timestamp::MIN);
        let due = now.since(*mark) >= PERIOD;
        if due {
            *mark = now;
        }
        due
    }
}
