//! Lists of handoffs.

use std::fmt;
use std::str::FromStr;

use sqlx::postgres::PgPool;
use uuid::Uuid;

use crate::domain::handoffs::Status;
use crate::domain::ids::{AgentId, Namespace, ThreadId};
use crate::domain::status::Facts;
use crate::domain::time::Timestamp;

use crate::store::StoreError;
use crate::store::agents::SlotsRow;
use crate::store::codec::{Spelled, Unknown, int};
use crate::store::handoffs::HandoffRow;
use crate::store::heads::HeadRow;
use crate::store::patience::answered;
use crate::store::turns::TurnRow;

/// A list that goes by one index, from the fragments that all of them share.
macro_rules! list {
    ($leading:literal) => {
        concat!(
            include_str!("../sql/list_begin.sql"),
            include_str!($leading),
            include_str!("../sql/list_end.sql"),
            include_str!("../sql/list_states.sql")
        )
    };
}

const OPEN: &str = list!("../sql/list_open.sql");
const OPEN_OF_AGENT: &str = list!("../sql/list_open_of_agent.sql");
const OF_PARENT: &str = list!("../sql/list_of_parent.sql");
const OF_ROOT: &str = list!("../sql/list_of_root.sql");
const ALL: &str = list!("../sql/list_all.sql");

/// Which handoffs a list goes through, by which index.
#[derive(Clone, Debug)]
pub enum Leading {
    /// All that are open.
    Open,
    /// The open ones of an agent.
    OpenOfAgent(AgentId),
    /// All of a parent thread.
    OfParent(ThreadId),
    /// All in the tree of a root thread.
    OfRoot(ThreadId),
    /// All.
    All,
}

/// What is shown of them, joined by AND.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Closed ones too.
    pub closed: bool,
    /// To this agent.
    pub agent: Option<AgentId>,
    /// In one of these statuses; empty: in any.
    pub statuses: Vec<Status>,
    /// Created at this time or earlier.
    pub created_until: Option<Timestamp>,
    /// Created at this time or later.
    pub created_since: Option<Timestamp>,
    /// Title or task contain it, in whatever case.
    pub text: Option<String>,
}

/// How much is read.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Rows of the page.
    pub size: usize,
    /// Rows that are looked at for it.
    pub scan: usize,
}

/// The row behind which a page begins: its handoff, or in a tree its thread and attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    id: Uuid,
    attempt: u32,
}

/// A page of handoffs.
#[derive(Debug, Default)]
pub struct Page {
    /// Each with the time of the statement.
    pub rows: Vec<(Facts, Timestamp)>,
    /// Where the next page begins; none where this is the last.
    pub next: Option<Cursor>,
}

/// A row of `list_states.sql`.
#[derive(sqlx::FromRow)]
pub(super) struct StateRow {
    now: Timestamp,
    matches: bool,
    seen: i64,
    handoff: HandoffRow,
    head: Option<HeadRow>,
    slots: Option<SlotsRow>,
    turn: Option<TurnRow>,
}

impl TryFrom<StateRow> for (Facts, Timestamp) {
    type Error = Unknown;

    fn try_from(row: StateRow) -> Result<Self, Unknown> {
        let facts = Facts {
            handoff: row.handoff.try_into()?,
            head: row.head.map(TryInto::try_into).transpose()?,
            slots: row.slots.map(TryInto::try_into).transpose()?,
            turn: row.turn.map(TryInto::try_into).transpose()?,
            children: Vec::new(),
        };
        Ok((facts, row.now))
    }
}

impl Leading {
    fn statement(&self) -> &'static str {
        match self {
            Self::Open => OPEN,
            Self::OpenOfAgent(_) => OPEN_OF_AGENT,
            Self::OfParent(_) => OF_PARENT,
            Self::OfRoot(_) => OF_ROOT,
            Self::All => ALL,
        }
    }

    /// The cursor behind a handoff of this list.
    #[must_use]
    pub fn behind(&self, facts: &Facts) -> Cursor {
        let handoff = &facts.handoff;
        match (self, handoff.child_thread_id) {
            (Self::OfRoot(_), Some(child)) => Cursor {
                id: child.into_untyped(),
                attempt: handoff.attempt,
            },
            _ => Cursor {
                id: handoff.handoff_id.into_untyped(),
                attempt: 0,
            },
        }
    }
}

/// Lists handoffs, oldest first: by id, or in a tree by thread and attempt. A page may be short and
/// still have a next one.
///
/// # Errors
/// The database is away; a row breaks an invariant.
pub async fn list(
    pool: &PgPool,
    namespace: &Namespace,
    leading: &Leading,
    filter: &Filter,
    after: Cursor,
    extent: Extent,
) -> Result<Page, StoreError> {
    let after = match leading {
        // A later attempt may be younger than its thread.
        Leading::OfRoot(_) => after,
        Leading::Open | Leading::OpenOfAgent(_) | Leading::OfParent(_) | Leading::All => {
            after.max(filter.first())
        }
    };
    let statuses: Vec<&str> = filter.statuses.iter().map(|it| it.spell()).collect();
    let query = sqlx::query_as(leading.statement())
        .bind(&namespace.0)
        .bind(after.id)
        .bind(filter.end())
        .bind(long(extent.scan))
        // One more than asked for tells whether there is a next page.
        .bind(long(extent.size.saturating_add(1)))
        .bind(filter.closed)
        .bind(&filter.agent)
        .bind((!statuses.is_empty()).then_some(statuses))
        .bind(filter.created_until)
        .bind(filter.created_since)
        .bind(&filter.text);
    let query = match leading {
        Leading::Open | Leading::All => query,
        Leading::OpenOfAgent(agent) => query.bind(agent),
        Leading::OfParent(parent) => query.bind(parent),
        Leading::OfRoot(root) => query.bind(root).bind(int(after.attempt)),
    };
    let found: Vec<StateRow> = answered(query.fetch_all(pool)).await?;
    let mut page = Page::default();
    for row in found {
        let (matches, last) = (row.matches, row.seen == long(extent.scan));
        let row: (Facts, Timestamp) = row.try_into()?;
        if matches && page.rows.len() == extent.size {
            page.next = page.rows.last().map(|(facts, _)| leading.behind(facts));
            break;
        }
        if last {
            page.next = Some(leading.behind(&row.0));
        }
        if matches {
            page.rows.push(row);
        }
    }
    Ok(page)
}

/// How far behind its creation an id may lie: ids count on while a database's clock is set back.
const IDS_AHEAD_MILLIS: u64 = 24 * 60 * 60 * 1_000;

impl Filter {
    /// No id of something that was created at `created_since` or later is at or before this one.
    fn first(&self) -> Cursor {
        let millis = self.created_since.map(Timestamp::unix_millis);
        Cursor {
            id: millis.map_or(Uuid::nil(), |it| least_id(it.saturating_sub(1))),
            attempt: 0,
        }
    }

    /// All ids of what was created until `created_until` are below this one.
    fn end(&self) -> Uuid {
        let millis = self.created_until.map(Timestamp::unix_millis);
        millis.map_or(Uuid::max(), |it| {
            least_id(it.saturating_add(IDS_AHEAD_MILLIS))
        })
    }
}

/// The least id of a millisecond.
fn least_id(millis: u64) -> Uuid {
    Uuid::from_u128(u128::from(millis.min(0xffff_ffff_ffff)) << 80)
}

fn long(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

impl Cursor {
    fn max(self, other: Self) -> Self {
        if other.id > self.id { other } else { self }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.id.simple(), self.attempt)
    }
}

impl FromStr for Cursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (id, attempt) = text.split_once('/').ok_or(())?;
        Ok(Self {
            id: Uuid::try_parse(id).map_err(|_| ())?,
            attempt: attempt.parse().map_err(|_| ())?,
        })
    }
}
