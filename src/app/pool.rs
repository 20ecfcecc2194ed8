//! The pool of connections for reads, with a queue before it.
//!
//! A pool gives up a caller after a few seconds, whether the database is away or all connections are
//! merely at work, and cannot tell which. So nobody asks it for a connection who has no place: who waits
//! for a place waits for other reads, as long as a caller does; who has one and gets no connection finds
//! the database away.

use std::ops::Deref;
use std::time::Duration;

use sqlx::postgres::PgPool;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::error::Error;

/// How long a read waits for others. A caller's own deadline ends it before.
const PATIENCE: Duration = Duration::from_secs(30);

/// See the module.
#[derive(Debug)]
pub(super) struct Pool {
    pool: PgPool,
    places: Semaphore,
}

/// Leave to read.
#[derive(Debug)]
pub(super) struct Place<'p> {
    pool: &'p PgPool,
    _permit: SemaphorePermit<'p>,
}

/// How many connections do what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    /// At work.
    pub(super) used: usize,
    /// Open, and at rest.
    pub(super) idle: usize,
    /// So many there may be.
    pub(super) most: usize,
}

impl Pool {
    pub(super) fn new(pool: PgPool) -> Self {
        let connections = pool.options().get_max_connections();
        Self {
            pool,
            places: Semaphore::new(usize::try_from(connections).unwrap_or(1)),
        }
    }

    /// How its connections are used.
    pub(super) fn usage(&self) -> Usage {
        let idle = self.pool.num_idle();
        let whole = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
        Usage {
            used: whole(self.pool.size()).saturating_sub(idle),
            idle,
            most: whole(self.pool.options().get_max_connections()),
        }
    }

    /// Waits for a place.
    ///
    /// # Errors
    /// Others read for too long.
    pub(super) async fn place(&self) -> Result<Place<'_>, Error> {
        match timeout(PATIENCE, self.places.acquire()).await {
            Ok(Ok(permit)) => Ok(Place {
                pool: &self.pool,
                _permit: permit,
            }),
            Ok(Err(_)) | Err(_) => Err(Error::Overloaded),
        }
    }
}

impl Deref for Place<'_> {
    type Target = PgPool;

    fn deref(&self) -> &PgPool {
        self.pool
    }
}
