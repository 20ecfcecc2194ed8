//! `CheckInvariants`: slice after slice of a namespace is held against what must be so of it.
//!
//! A slice is a snapshot of its own, so that a check of many millions of rows holds back the database's
//! cleaning for moments only. What is about a thing is proved in one statement, so nothing is missed for
//! that: each thing was right in some moment of the check. One check runs at a time in a server; others
//! wait for it, for it is made of reads that are dear.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use tokio::time::Instant;
use uuid::Uuid;

use crate::app::App;
use crate::app::error::Error;
use crate::domain::ids::Namespace;
use crate::store::invariants::{self, ALL, Invariant, Subject, Violation};

/// Things of one slice, at most.
const SLICE: usize = 200;
/// How long one slice may take; then a smaller one is tried.
const SLICE_TIME: Duration = Duration::from_secs(3);
/// How long one call works; then its caller goes on with another.
const CALL_TIME: Duration = Duration::from_secs(5);
/// What is left of a caller's own time for the answer to travel.
const MARGIN: Duration = Duration::from_millis(500);
/// Violations at which a call ends. A slice may add one for each of its things and invariants.
const ENOUGH: usize = 500;

/// Where a check goes on, and with how large a slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    subject: Subject,
    size: usize,
    after: Option<String>,
}

/// How far one call came.
#[derive(Debug)]
pub struct Progress {
    /// Each invariant, with the things that were held against it and those that broke it.
    pub invariants: Vec<(&'static Invariant, u64, u64)>,
    /// What breaks them.
    pub violations: Vec<Violation>,
    /// Things that could not be looked at in time.
    pub unchecked: Vec<String>,
    /// Where it goes on; none where it is finished.
    pub next: Option<Cursor>,
}

/// The invariants of these names, all where none is named; else the first name that is none.
///
/// # Errors
/// There is no such one.
pub fn named(names: &[String]) -> Result<Vec<&'static Invariant>, String> {
    if names.is_empty() {
        return Ok(ALL.iter().collect());
    }
    let known = |name: &&String| ALL.iter().any(|it| it.name == name.as_str());
    match names.iter().find(|name| !known(name)) {
        Some(unknown) => Err(unknown.clone()),
        None => Ok(ALL
            .iter()
            .filter(|it| names.iter().any(|name| name == it.name))
            .collect()),
    }
}

impl Cursor {
    /// The very beginning.
    fn start() -> Self {
        Self::of(Subject::ALL[0])
    }

    fn of(subject: Subject) -> Self {
        Self {
            subject,
            size: SLICE,
            after: None,
        }
    }

    /// The first thing of the next subject.
    fn next_subject(&self) -> Option<Self> {
        let mut all = Subject::ALL.into_iter();
        all.find(|it| *it > self.subject).map(Self::of)
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.subject as u8, self.size)?;
        match &self.after {
            Some(after) => write!(f, "/{after}"),
            None => Ok(()),
        }
    }
}

impl FromStr for Cursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.splitn(3, '/');
        let subject = parts.next().ok_or(())?;
        let subject = Subject::ALL
            .into_iter()
            .find(|it| (*it as u8).to_string() == subject)
            .ok_or(())?;
        let size = parts.next().and_then(|size| size.parse().ok());
        let after = parts.next().map(str::to_owned);
        let is_id = |after: &String| subject == Subject::Agent || after.parse::<Uuid>().is_ok();
        if !after.as_ref().is_none_or(is_id) {
            return Err(());
        }
        Ok(Self {
            subject,
            size: size.filter(|size| (1..=SLICE).contains(size)).ok_or(())?,
            after,
        })
    }
}

impl App {
    /// Holds what is stored for a namespace against `invariants`, from a cursor on, for a few seconds.
    ///
    /// # Errors
    /// The database is away.
    pub async fn check_invariants(
        &self,
        namespace: &Namespace,
        invariants: &[&'static Invariant],
        from: Option<Cursor>,
        deadline: Option<Instant>,
    ) -> Result<Progress, Error> {
        let Ok(_turn) = self.checks.acquire().await else {
            return Err(Error::Draining);
        };
        let enough = Instant::now() + CALL_TIME;
        let own = deadline.and_then(|deadline| deadline.checked_sub(MARGIN));
        let enough = own.map_or(enough, |own| enough.min(own));
        let mut progress = Progress {
            invariants: invariants.iter().map(|it| (*it, 0, 0)).collect(),
            violations: Vec::new(),
            unchecked: Vec::new(),
            next: Some(from.unwrap_or_else(Cursor::start)),
        };
        while let Some(cursor) = progress.next.take() {
            progress.next = self.check_slice(namespace, &mut progress, cursor).await?;
            if progress.violations.len() >= ENOUGH || Instant::now() >= enough {
                break;
            }
        }
        Ok(progress)
    }

    /// Looks at one slice; returns where it goes on: behind the slice, or where it took too long at its
    /// beginning, with a smaller one.
    async fn check_slice(
        &self,
        namespace: &Namespace,
        progress: &mut Progress,
        cursor: Cursor,
    ) -> Result<Option<Cursor>, Error> {
        let subject = cursor.subject;
        let asked = progress.about(subject);
        if asked.is_empty() {
            return Ok(cursor.next_subject());
        }
        let late = Instant::now() + SLICE_TIME;
        let place = self.pool.place().await?;
        let mut snapshot = invariants::snapshot(&place).await?;
        let after = cursor.after.as_deref();
        let things =
            invariants::list(&mut snapshot, namespace, subject, after, cursor.size).await?;
        let Some(last) = things.last() else {
            return Ok(cursor.next_subject());
        };
        let mut found = Vec::new();
        for invariant in asked {
            let broken =
                invariants::violations(&mut snapshot, namespace, invariant, &things).await?;
            let Some(broken) = broken.filter(|_| Instant::now() < late) else {
                break;
            };
            found.push(broken);
        }
        if found.len() == progress.about(subject).len() {
            progress.add(subject, things.len(), found);
        } else if things.len() > 1 {
            let size = things.len() / 2;
            return Ok(Some(Cursor { size, ..cursor }));
        } else {
            progress.unchecked.push(subject.id(last));
        }
        Ok(Some(Cursor {
            subject,
            size: SLICE.min(cursor.size * 2),
            after: Some(last.clone()),
        }))
    }
}

impl Progress {
    /// Whether all that `invariant` is about has been looked at, by this call or those before it.
    #[must_use]
    pub fn is_finished(&self, invariant: &Invariant) -> bool {
        let next = self.next.as_ref();
        next.is_none_or(|cursor| invariant.subject < cursor.subject)
    }

    /// The invariants that are asked for, as far as they are about a subject.
    fn about(&self, subject: Subject) -> Vec<&'static Invariant> {
        let all = self.invariants.iter().map(|(it, ..)| *it);
        all.filter(|it| it.subject == subject).collect()
    }

    /// Counts a slice: what each invariant of the subject found, in their order.
    fn add(&mut self, subject: Subject, things: usize, found: Vec<Vec<Violation>>) {
        let counts = self.invariants.iter_mut();
        let counts = counts.filter(|(it, ..)| it.subject == subject);
        for ((_, looked_at, broken), violations) in counts.zip(found) {
            *looked_at += things as u64;
            *broken += violations.len() as u64;
            self.violations.extend(violations);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_survives_its_text() {
        let cursor = |subject, after: &str| Cursor {
            subject,
            size: 25,
            after: Some(after.to_owned()),
        };
        for cursor in [
            Cursor::start(),
            cursor(Subject::Agent, "a/b"),
            cursor(Subject::Handoff, "00000000-0000-7000-8000-000000000000"),
        ] {
            assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }
        for garbage in ["", "9/1", "x/1", "1", "1/0", "1/201", "1/-1", "1/1/x"] {
            assert_eq!(garbage.parse::<Cursor>(), Err(()), "{garbage}");
        }
    }

    #[test]
    fn an_invariant_is_finished_when_the_check_is_beyond_its_subject() {
        let finished = |next| {
            let progress = Progress {
                invariants: Vec::new(),
                violations: Vec::new(),
                unchecked: Vec::new(),
                next,
            };
            ALL.iter().filter(|it| progress.is_finished(it)).count()
        };
        let about = |subject| ALL.iter().filter(|it| it.subject == subject).count();
        assert_eq!(finished(Some(Cursor::start())), 0);
        let threads = Some(Cursor::of(Subject::Thread));
        assert_eq!(finished(threads), about(Subject::Agent));
        assert_eq!(finished(None), ALL.len());
    }

    #[test]
    fn names_choose_and_an_unknown_one_is_told() {
        let name = ALL[3].name.to_owned();
        let chosen = named(std::slice::from_ref(&name)).unwrap();
        assert_eq!(chosen.iter().map(|it| it.name).collect::<Vec<_>>(), [&name]);
        assert_eq!(named(&[]).unwrap().len(), ALL.len());
        assert_eq!(named(&[name, "x".to_owned()]).unwrap_err(), "x");
    }
}
