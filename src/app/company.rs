//! Whether other servers are there to be told what this one commits.
//!
//! A NOTIFY is a transaction that writes and wakes every listener, this server's own among them; of a
//! server that is alone nobody wants it. So each server greets the others, now and then and whenever it
//! begins to listen, and one that has heard nobody for a while keeps its hints to itself. Whoever
//! appears is told to look at everything, which makes up for all that was not said before.

use std::time::{Duration, Instant};

/// How often a server greets the others.
pub(super) const GREETING: Duration = Duration::from_secs(5);
/// How long one that is silent counts as there: it may miss a greeting or two.
const PATIENCE: Duration = Duration::from_secs(15);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Company {
    /// Until when somebody counts as there; none while nobody could be heard.
    until: Option<Instant>,
}

impl Company {
    /// From now on the others are heard; until they have had time to greet, they count as there.
    pub(super) fn listen(&mut self, now: Instant) {
        self.until = Some(now + PATIENCE);
    }

    /// From now on they are not.
    pub(super) fn deafen(&mut self) {
        self.until = None;
    }

    /// Somebody was heard; tells whether that is news.
    pub(super) fn meet(&mut self, now: Instant) -> bool {
        let news = !self.is_there(now);
        self.until = self.until.map(|_| now + PATIENCE);
        news
    }

    /// Whether there is anybody to tell.
    pub(super) fn is_there(&self, now: Instant) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_hears_nobody_for_a_while_is_alone() {
        let now = Instant::now();
        let mut company = Company::default();
        company.listen(now);
        assert!(company.is_there(now + GREETING));
        assert!(!company.is_there(now + PATIENCE));
    }

    #[test]
    fn who_cannot_hear_is_never_sure_to_be_alone() {
        let now = Instant::now();
        let mut company = Company::default();
        assert!(company.is_there(now + 2 * PATIENCE));
        company.listen(now);
        company.deafen();
        assert!(company.is_there(now + 2 * PATIENCE));
    }

    #[test]
    fn somebody_is_news_once() {
        let now = Instant::now();
        let mut company = Company::default();
        company.listen(now);
        assert!(!company.meet(now + GREETING));
        let later = now + 2 * PATIENCE;
        assert!(company.meet(later));
        assert!(!company.meet(later + GREETING));
        assert!(company.is_there(later + PATIENCE));
    }
}
