//! Runtimes that are there and have nothing to do: each on a connection of its own, with a long-poll
//! for an agent that nobody gives any work.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use handoffd::proto::v1::{ClaimTurnsRequest, RegisterRuntimeRequest};
use tonic::transport::Endpoint;

use crate::faults::link::Link;
use crate::faults::parents::agent;
use crate::faults::workload::Work;
use crate::support::{Clients, pause};

/// How many.
pub(super) const RUNTIMES: usize = 1_000;

/// What they are there for.
const IDLER: &str = "idler";
/// How long one long-poll takes, in seconds: what it is where nobody says.
const WAIT: f64 = 30.0;
/// Runtimes that register at once.
const AT_ONCE: usize = 16;

/// See the module.
pub(super) struct Crowd(Vec<Idler>);

struct Idler {
    claim: ClaimTurnsRequest,
    server: Clients,
}

impl Crowd {
    /// Registers all of them, with the servers in turn.
    pub(super) async fn gather(link: &Link, addresses: &[SocketAddr]) -> Self {
        agent(link, IDLER).await;
        let idlers = stream::iter(0..RUNTIMES)
            .map(async |number| Idler::register(number, addresses[number % addresses.len()]).await)
            .buffer_unordered(AT_ONCE);
        Self(idlers.collect().await)
    }

    /// They wait, and ask again, without end. The first polls end spread over the time that one takes, as
    /// do those of runtimes that were started at any time.
    pub(super) async fn wait(&self, work: &Work) {
        let parts = self.0.iter().zip((1..=self.0.len()).map(|nth| {
            #[expect(clippy::cast_precision_loss, reason = "a part of a span")]
            let part = nth as f64 / self.0.len() as f64;
            WAIT * part
        }));
        join_all(parts.map(|(idler, first)| idler.wait(work, first))).await;
    }
}

impl Idler {
    async fn register(number: usize, address: SocketAddr) -> Self {
        let endpoint = Endpoint::try_from(format!("http://{address}")).unwrap();
        let server = Clients::new(endpoint.connect_lazy());
        let register = RegisterRuntimeRequest {
            runtime_id: format!("idler-{number}"),
            ..RegisterRuntimeRequest::default()
        };
        let life = server.runtimes().register_runtime(register.clone()).await;
        let claim = ClaimTurnsRequest {
            runtime_id: register.runtime_id,
            incarnation: life.unwrap().into_inner().incarnation,
            agent_ids: vec![IDLER.to_owned()],
            max_turns: Some(4),
            wait: None,
        };
        Self { claim, server }
    }

    async fn wait(&self, work: &Work, first: f64) {
        let mut claim = ClaimTurnsRequest {
            wait: Duration::from_secs_f64(first).try_into().ok(),
            ..self.claim.clone()
        };
        loop {
            match self.server.runtimes().claim_turns(claim).await {
                Ok(claimed) => work.holds(claimed.get_ref().turns.is_empty(), || {
                    "a turn of an agent that nobody gives any work".to_owned()
                }),
                Err(status) => {
                    work.broken(format!("an idle runtime was refused: {status:?}"));
                    pause(Duration::from_secs(1)).await;
                }
            }
            claim = self.claim.clone();
        }
    }
}
