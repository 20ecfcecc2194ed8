//! Carries hints between servers: one listener and one notifier a process, and the polling that
//! makes up for whatever they lose.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use tokio::sync::watch;
use tokio::time::{Instant, interval_at};

use crate::store::connect;
use crate::store::hints::{self, Listener};

use super::company::GREETING;
use super::error::chain;
use super::registry::{Outbox, Registry};

/// Keys of one NOTIFY: sixteen digits each, below PostgreSQL's limit of 8,000 bytes.
const KEYS_PER_PAYLOAD: usize = 400;
/// How often every waiter looks again at least while the listener does not hear.
const POLL_DEAF: Duration = Duration::from_millis(500);
/// Pause before a lost connection is tried again.
const RECONNECT: Duration = Duration::from_millis(200);

/// Has this server greet the others now and then.
pub(super) async fn greeter(registry: Arc<Registry>) {
    let mut tick = tokio::time::interval(GREETING);
    loop {
        tick.tick().await;
        registry.greet();
    }
}

/// Whether a server hears of other servers' commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hearing {
    /// It listens.
    Up,
    /// It has no connection to listen on, and polls meanwhile.
    Lost,
    /// It was told to do without, and polls.
    Off,
}

/// Sends what gathered since the last time; never one NOTIFY a transaction, which would divide the
/// commits a database can do.
pub(super) async fn notifier(options: PgConnectOptions, registry: Arc<Registry>, server: u64) {
    let mut connection = None;
    loop {
        let outbox = registry.outgoing().await;
        for payload in payloads(server, &outbox) {
            let open = match connection.take() {
                Some(open) => Ok(open),
                None => connect(&options).await,
            };
            let sent = match open {
                Ok(mut open) => match hints::notify(&mut open, &payload).await {
                    Ok(()) => {
                        connection = Some(open);
                        Ok(())
                    }
                    Err(error) => Err(error),
                },
                Err(error) => Err(error),
            };
            if let Err(error) = sent {
                tracing::debug!(error = %chain(&error), "hints not sent; the others poll");
            }
        }
    }
}

/// Hears what other servers committed. `hears` tells the poller whether it may relax.
pub(super) async fn listener(
    options: PgConnectOptions,
    registry: Arc<Registry>,
    server: u64,
    hears: watch::Sender<Hearing>,
) {
    let mut retry = tokio::time::interval(RECONNECT);
    retry.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        retry.tick().await;
        match listen(&options, &registry, server, &hears).await {
            Ok(()) => tracing::warn!("listener lost; polling meanwhile"),
            Err(error) => {
                tracing::warn!(error = %chain(&error), "listener lost; polling meanwhile");
            }
        }
        registry.deaf();
        hears.send_replace(Hearing::Lost);
    }
}

async fn listen(
    options: &PgConnectOptions,
    registry: &Registry,
    server: u64,
    hears: &watch::Sender<Hearing>,
) -> Result<(), crate::store::StoreError> {
    let mut listener = Listener::connect(options).await?;
    registry.listening();
    hears.send_replace(Hearing::Up);
    while let Some(payload) = listener.next().await? {
        hear(registry, server, &payload);
    }
    Ok(())
}

/// Makes every waiter look again once a `period`, whatever hints were lost; more often while the
/// listener does not hear.
pub(super) async fn poller(
    registry: Arc<Registry>,
    mut hears: watch::Receiver<Hearing>,
    period: Duration,
) {
    loop {
        let deaf = *hears.borrow_and_update() != Hearing::Up;
        let period = if deaf { POLL_DEAF.min(period) } else { period };
        let mut tick = interval_at(Instant::now() + period, period);
        tokio::select! {
            _ = tick.tick() => registry.tell_all(),
            _ = hears.changed() => {}
        }
    }
}

fn payloads(server: u64, outbox: &Outbox) -> Vec<String> {
    if outbox.everything {
        return vec![format!("{server:016x};*")];
    }
    if outbox.keys.is_empty() {
        return vec![format!("{server:016x};")];
    }
    let keys: Vec<String> = outbox
        .keys
        .iter()
        .map(|key| format!("{key:016x}"))
        .collect();
    keys.chunks(KEYS_PER_PAYLOAD)
        .map(|keys| format!("{server:016x};{}", keys.join(",")))
        .collect()
}

fn hear(registry: &Registry, server: u64, payload: &str) {
    let Some((sender, keys)) = payload.split_once(';') else {
        return;
    };
    if u64::from_str_radix(sender, 16) == Ok(server) {
        return;
    }
    registry.meet();
    if keys == "*" {
        registry.tell_all();
    } else {
        let keys: Vec<u64> = keys
            .split(',')
            .filter_map(|key| u64::from_str_radix(key, 16).ok())
            .collect();
        registry.tell(&keys);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_stays_below_the_limit_and_names_every_key() {
        let outbox = Outbox {
            keys: (0..1_000).collect(),
            ..Outbox::default()
        };
        let payloads = payloads(7, &outbox);
        assert!(payloads.iter().all(|payload| payload.len() < 8_000));
        let named: usize = payloads
            .iter()
            .map(|payload| payload.split(',').count())
            .sum();
        assert_eq!(named, 1_000);
    }
}
