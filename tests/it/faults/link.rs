//! A client as the contract asks for one: it repeats the same request until it has an answer.

use std::cell::Cell;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::timeout;
use tonic::transport::Endpoint;
use tonic::{Code, Response, Status};
use tonic_types::StatusExt;

use crate::support::{Clients, eventually};

/// How long one try may take, a long-poll included; behind it is a server that froze.
const PATIENCE: Duration = Duration::from_secs(8);

/// The way to all servers of a service, each in turn.
#[derive(Debug)]
pub(super) struct Link {
    servers: Vec<Clients>,
    next: Cell<usize>,
}

impl Link {
    /// To the servers at these addresses; none of them needs to be there.
    pub(super) fn to(addresses: &[SocketAddr]) -> Self {
        let client = |address| {
            let endpoint = Endpoint::try_from(format!("http://{address}")).unwrap();
            Clients::new(endpoint.connect_lazy())
        };
        Self {
            servers: addresses.iter().map(client).collect(),
            next: Cell::default(),
        }
    }

    /// One server's clients.
    pub(super) fn server(&self, at: usize) -> &Clients {
        &self.servers[at]
    }

    /// Calls server after server until one says what became of the call.
    pub(super) async fn call<T>(
        &self,
        what: &str,
        mut call: impl AsyncFnMut(&Clients) -> Result<Response<T>, Status>,
    ) -> Result<T, Status> {
        let mut answer = None;
        eventually(what, async || {
            let at = self.next.replace(self.next.get() + 1) % self.servers.len();
            match timeout(PATIENCE, call(&self.servers[at])).await {
                Ok(Ok(response)) => answer = Some(Ok(response.into_inner())),
                Ok(Err(status)) if !is_open(&status) => answer = Some(Err(status)),
                Ok(Err(_)) | Err(_) => {}
            }
            answer.is_some()
        })
        .await;
        answer.unwrap()
    }

    /// The same for a call that must be accepted in the end.
    pub(super) async fn accepted<T>(
        &self,
        what: &str,
        call: impl AsyncFnMut(&Clients) -> Result<Response<T>, Status>,
    ) -> T {
        let answer = self.call(what, call).await;
        answer.unwrap_or_else(|status| panic!("{what}: {status:?}"))
    }
}

/// Whether the call must be repeated: the server said so, or its connection broke. All that the server
/// says has a reason.
fn is_open(status: &Status) -> bool {
    status.code() == Code::Unavailable || status.get_error_details().error_info().is_none()
}
