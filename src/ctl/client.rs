//! The connection to a server: who asks, for how long, and page after page.

use std::time::Duration;

use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};
use tonic_health::pb::health_client::HealthClient;

use super::{CtlError, ServerArgs};
use crate::proto::v1::agent_service_client::AgentServiceClient;
use crate::proto::v1::handoff_service_client::HandoffServiceClient;
use crate::proto::v1::mailbox_service_client::MailboxServiceClient;
use crate::proto::v1::operator_service_client::OperatorServiceClient;
use crate::proto::v1::runtime_service_client::RuntimeServiceClient;
use crate::proto::v1::status_service_client::StatusServiceClient;
use crate::proto::v1::thread_service_client::ThreadServiceClient;

/// The metadata key that names the namespace.
const NAMESPACE: &str = "handoffd-namespace";

/// How long a server may take to be reached: a person waits for it.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The deadline of each call. Nothing a command asks for takes long, but a server whose database is
/// slow is given the time to say so.
const DEADLINE: Duration = Duration::from_secs(20);

/// The most rows a page may have.
const LARGEST_PAGE: usize = 500;

/// A connection to one server, for one namespace.
#[derive(Debug, Clone)]
pub(super) struct Client {
    channel: Channel,
    asking: Asking,
}

/// What each call carries besides its request.
#[derive(Debug, Clone)]
pub(super) struct Asking {
    namespace: MetadataValue<Ascii>,
}

type Service = InterceptedService<Channel, Asking>;

impl Interceptor for Asking {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        request
            .metadata_mut()
            .insert(NAMESPACE, self.namespace.clone());
        request.set_timeout(DEADLINE);
        Ok(request)
    }
}

impl Client {
    /// Connects, so that a server that is not there is told apart from one that refuses.
    pub(super) async fn connect(server: &ServerArgs) -> Result<Self, CtlError> {
        let address = with_scheme(&server.address)?;
        let namespace = server
            .namespace
            .parse()
            .map_err(|_| CtlError::Usage(format!("`{}` is no namespace name", server.namespace)))?;
        let channel = Endpoint::from_shared(address.clone())
            .map_err(|_| CtlError::Usage(format!("`{address}` is no address")))?
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true)
            .connect()
            .await
            .map_err(|source| CtlError::Unreachable { address, source })?;
        Ok(Self {
            channel,
            asking: Asking { namespace },
        })
    }

    pub(super) fn agents(&self) -> AgentServiceClient<Service> {
        AgentServiceClient::with_interceptor(self.channel.clone(), self.asking.clone())
    }

    pub(super) fn threads(&self) -> ThreadServiceClient<Service> {
        ThreadServiceClient::with_interceptor(self.channel.clone(), self.asking.clone())
    }

    pub(super) fn mailbox(&self) -> MailboxServiceClient<Service> {
        MailboxServiceClient::with_interceptor(self.channel.clone(), self.asking.clone())
    }

    pub(super) fn runtimes(&self) -> RuntimeServiceClient<Service> {
        RuntimeServiceClient::with_interceptor(self.channel.clone(), self.asking.clone())
    }

    pub(super) fn handoffs(&self) -> HandoffServiceClient<Service> {
        HandoffServiceClient::with_interceptor(self.channel.clone(), self.asking.clone())
    }

    pub(super) fn status(&self) -> StatusServiceClient<Service> {
        StatusServiceClient::with_interceptor(self.channel.clone(), self.asking.clone())
    }

    pub(super) fn operators(&self) -> OperatorServiceClient<Service> {
        OperatorServiceClient::with_interceptor(self.channel.clone(), self.asking.clone())
    }

    pub(super) fn health(&self) -> HealthClient<Service> {
        HealthClient::with_interceptor(self.channel.clone(), self.asking.clone())
    }
}

/// Accepts `host:port` as people write it.
fn with_scheme(address: &str) -> Result<String, CtlError> {
    match address.split_once("://") {
        None => Ok(format!("http://{address}")),
        Some(("http", _)) => Ok(address.to_owned()),
        Some((scheme, _)) => Err(CtlError::Usage(format!(
            "`{scheme}` is not spoken, only `http`"
        ))),
    }
}

/// An id for a call that must have its effect once.
pub(super) fn request_id() -> String {
    format!("ctl-{:032x}", rand::random::<u128>())
}

/// Parses a limit: a list of nothing is asked for by nobody.
pub(super) fn at_least_one(limit: &str) -> Result<usize, String> {
    match limit.parse() {
        Ok(0) | Err(_) => Err("it is a number from 1".to_owned()),
        Ok(limit) => Ok(limit),
    }
}

/// The rows of a list, as far as they were asked for.
#[derive(Debug)]
pub(super) struct Pages<Row, Cursor> {
    /// The rows, in the order of the server.
    pub(super) rows: Vec<Row>,
    /// Where the list goes on: set only where the limit ended it.
    pub(super) next: Option<Cursor>,
}

/// Asks for page after page from `cursor` until the list ends, or `limit` rows are there. `ask` gets
/// the size of the page and the cursor, and answers rows and the next cursor.
pub(super) async fn pages<Row, Cursor>(
    limit: usize,
    mut cursor: Cursor,
    mut ask: impl AsyncFnMut(i32, Cursor) -> Result<(Vec<Row>, Option<Cursor>), Status>,
) -> Result<Pages<Row, Cursor>, CtlError> {
    let mut rows = Vec::new();
    loop {
        let size = (limit - rows.len()).min(LARGEST_PAGE);
        let (page, next) = ask(i32::try_from(size).unwrap_or(i32::MAX), cursor).await?;
        rows.extend(page);
        match next {
            Some(next) if rows.len() < limit => cursor = next,
            next => return Ok(Pages { rows, next }),
        }
    }
}

/// The cursor of a list that pages by token: an empty token is the last page's.
pub(super) fn token(next_page_token: String) -> Option<String> {
    Some(next_page_token).filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list of the numbers below `end`, three a page at most.
    async fn numbers(limit: usize, end: usize) -> (Vec<usize>, Option<usize>) {
        let pages = pages(limit, 0, async |size, from: usize| {
            let until = end.min(from + 3.min(usize::try_from(size).unwrap()));
            Ok(((from..until).collect(), (until < end).then_some(until)))
        });
        let pages = pages.await.unwrap();
        (pages.rows, pages.next)
    }

    #[tokio::test]
    async fn a_list_is_read_to_its_end_or_to_the_limit() {
        assert_eq!(numbers(100, 7).await, ((0..7).collect(), None));
        assert_eq!(numbers(7, 7).await, ((0..7).collect(), None));
        assert_eq!(numbers(4, 7).await, ((0..4).collect(), Some(4)));
        assert_eq!(numbers(4, 0).await, (Vec::new(), None));
    }

    #[test]
    fn an_address_may_lack_its_scheme() {
        assert_eq!(with_scheme("a:1").unwrap(), "http://a:1");
        assert_eq!(with_scheme("http://a:1").unwrap(), "http://a:1");
        assert!(with_scheme("https://a:1").is_err());
    }
}
