//! A client as the contract asks for one: it repeats the same request until it has an answer.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::time::timeout;
use tonic::transport::Endpoint;
use tonic::{Code, Response, Status};
use tonic_types::StatusExt;

use crate::support::{Clients, pause};

/// How long one try may take, a long-poll included; behind it is a server that froze.
const PATIENCE: Duration = Duration::from_secs(8);
/// Between two tries, at first and at last.
const PAUSES: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(320)];
/// When a call is given up that one fault delays, and one that many faults delay.
const LIMITS: [Duration; 2] = [Duration::from_secs(20), Duration::from_mins(3)];

/// The way to all servers of a service, each in turn.
#[derive(Debug)]
pub(super) struct Link {
    servers: Vec<Clients>,
    limit: Duration,
    next: Cell<usize>,
    calls: Cell<u64>,
    repeats: Cell<u64>,
    slowest: Cell<Duration>,
    /// How long calls took, by what they are; only where somebody takes them.
    spans: Option<RefCell<Spans>>,
}

/// How long calls took, by what they are.
pub(super) type Spans = BTreeMap<String, Vec<Duration>>;

impl Link {
    /// To the servers at these addresses; none of them needs to be there.
    pub(super) fn to(addresses: &[SocketAddr]) -> Self {
        let client = |address| {
            let endpoint = Endpoint::try_from(format!("http://{address}")).unwrap();
            Clients::new(endpoint.connect_lazy())
        };
        Self {
            servers: addresses.iter().map(client).collect(),
            limit: LIMITS[0],
            next: Cell::default(),
            calls: Cell::default(),
            repeats: Cell::default(),
            slowest: Cell::default(),
            spans: None,
        }
    }

    /// The same, where fault follows fault.
    pub(super) fn patient(addresses: &[SocketAddr]) -> Self {
        Self {
            limit: LIMITS[1],
            ..Self::to(addresses)
        }
    }

    /// The same, with [`Link::spans`] kept.
    pub(super) fn timed(self) -> Self {
        Self {
            spans: Some(RefCell::default()),
            ..self
        }
    }

    /// How long the calls took that were answered since this was last asked.
    pub(super) fn spans(&self) -> Spans {
        self.spans.as_ref().map(RefCell::take).unwrap_or_default()
    }

    /// Notes how long something took.
    pub(super) fn took(&self, what: &str, span: Duration) {
        if let Some(spans) = &self.spans {
            let mut spans = spans.borrow_mut();
            spans.entry(what.to_owned()).or_default().push(span);
        }
    }

    /// One server's clients.
    pub(super) fn server(&self, at: usize) -> &Clients {
        &self.servers[at]
    }

    /// Calls that were answered, tries beyond the first of each, and the longest time to an answer.
    pub(super) fn spent(&self) -> (u64, u64, Duration) {
        (self.calls.get(), self.repeats.get(), self.slowest.get())
    }

    /// Calls server after server until one says what became of the call.
    pub(super) async fn call<T>(
        &self,
        what: &str,
        mut call: impl AsyncFnMut(&Clients) -> Result<Response<T>, Status>,
    ) -> Result<T, Status> {
        let begin = Instant::now();
        let [mut wait, longest] = PAUSES;
        let answer = loop {
            let at = self.next.replace(self.next.get() + 1) % self.servers.len();
            let missing = match timeout(PATIENCE, call(&self.servers[at])).await {
                Ok(Ok(response)) => break Ok(response.into_inner()),
                Ok(Err(status)) if !is_open(&status) => break Err(status),
                Ok(Err(status)) => Some(status),
                Err(_) => None,
            };
            let waited = begin.elapsed();
            assert!(waited < self.limit, "never came true: {what}: {missing:?}");
            self.repeats.set(self.repeats.get() + 1);
            pause(wait).await;
            wait = longest.min(wait * 2);
        };
        let span = begin.elapsed();
        self.calls.set(self.calls.get() + 1);
        self.slowest.set(self.slowest.get().max(span));
        self.took(what, span);
        answer
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
