//! Callers who are no parents, and wait for ends on whatever server answers. An end that one of them
//! saw is the end: it is held against what is found when all is quiet.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use handoffd::proto::v1::{HandoffStatus, WaitHandoffRequest, WaitReason, WaitUntil};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use super::Work;
use super::account::Part;
use crate::faults::agents::seconds;
use crate::support::pause;

/// Between two waits of one watcher, and while there is nothing to wait for.
const ROUND: Duration = Duration::from_millis(200);

/// Handoffs that are watched.
#[derive(Default)]
pub(super) struct Watched {
    unseen: RefCell<Vec<String>>,
    seen: RefCell<BTreeMap<String, HandoffStatus>>,
}

impl Watched {
    pub(super) fn add(&self, handoff_id: &str) {
        self.unseen.borrow_mut().push(handoff_id.to_owned());
    }

    /// Ends that were seen.
    pub(super) fn ends(&self) -> BTreeMap<String, HandoffStatus> {
        self.seen.take()
    }

    fn pick(&self, rng: &mut StdRng) -> Option<String> {
        self.unseen.borrow().choose(rng).cloned()
    }

    fn ended(&self, handoff_id: String, status: HandoffStatus) -> Option<HandoffStatus> {
        self.unseen.borrow_mut().retain(|it| *it != handoff_id);
        self.seen.borrow_mut().insert(handoff_id, status)
    }
}

/// Waits for one handoff after the other, without end.
pub(super) async fn watch(work: &Work, seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed);
    loop {
        pause(ROUND).await;
        let Some(handoff_id) = work.watched.pick(&mut rng) else {
            continue;
        };
        let wait = WaitHandoffRequest {
            handoff_id: handoff_id.clone(),
            until: WaitUntil::Finish.into(),
            timeout: Some(seconds(2)),
            ..WaitHandoffRequest::default()
        };
        let waited = work.link.accepted("a wait is answered", async |server| {
            server.handoffs().wait_handoff(wait.clone()).await
        });
        let waited = waited.await;
        if waited.reason() != WaitReason::Finished {
            work.count(Part::Work, "waits that ended before the work");
            continue;
        }
        work.count(Part::Work, "ends that a wait told");
        let (status, before) = (
            waited.status(),
            work.watched.ended(handoff_id, waited.status()),
        );
        work.holds(before.is_none_or(|before| before == status), || {
            format!("an end changed from {before:?} to {status:?}")
        });
    }
}
