//! Typed clients of every service, speaking for one namespace.

use handoffd::proto::v1::agent_service_client::AgentServiceClient;
use handoffd::proto::v1::handoff_service_client::HandoffServiceClient;
use handoffd::proto::v1::mailbox_service_client::MailboxServiceClient;
use handoffd::proto::v1::operator_service_client::OperatorServiceClient;
use handoffd::proto::v1::runtime_service_client::RuntimeServiceClient;
use handoffd::proto::v1::status_service_client::StatusServiceClient;
use handoffd::proto::v1::thread_service_client::ThreadServiceClient;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Request, Status};

/// Adds the namespace to each call.
#[derive(Debug, Clone)]
pub(crate) struct InNamespace(Option<MetadataValue<Ascii>>);

impl Interceptor for InNamespace {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(namespace) = &self.0 {
            request
                .metadata_mut()
                .insert("handoffd-namespace", namespace.clone());
        }
        Ok(request)
    }
}

type Intercepted = InterceptedService<Channel, InNamespace>;

/// A connection and the namespace it speaks for.
#[derive(Debug, Clone)]
pub(crate) struct Clients {
    channel: Channel,
    namespace: InNamespace,
}

impl Clients {
    /// The connection itself, for a call that no stub makes.
    pub(crate) fn channel(&self) -> Channel {
        self.channel.clone()
    }

    /// Clients that name no namespace.
    pub(crate) fn new(channel: Channel) -> Self {
        Self {
            channel,
            namespace: InNamespace(None),
        }
    }

    /// The same connection, for another namespace; the name is sent as it is.
    pub(crate) fn in_namespace(&self, name: &str) -> Self {
        Self {
            channel: self.channel.clone(),
            namespace: InNamespace(Some(name.parse().unwrap())),
        }
    }

    pub(crate) fn agents(&self) -> AgentServiceClient<Intercepted> {
        AgentServiceClient::with_interceptor(self.channel.clone(), self.namespace.clone())
    }

    pub(crate) fn threads(&self) -> ThreadServiceClient<Intercepted> {
        ThreadServiceClient::with_interceptor(self.channel.clone(), self.namespace.clone())
    }

    pub(crate) fn mailbox(&self) -> MailboxServiceClient<Intercepted> {
        MailboxServiceClient::with_interceptor(self.channel.clone(), self.namespace.clone())
    }

    pub(crate) fn runtimes(&self) -> RuntimeServiceClient<Intercepted> {
        RuntimeServiceClient::with_interceptor(self.channel.clone(), self.namespace.clone())
    }

    pub(crate) fn handoffs(&self) -> HandoffServiceClient<Intercepted> {
        HandoffServiceClient::with_interceptor(self.channel.clone(), self.namespace.clone())
    }

    pub(crate) fn status(&self) -> StatusServiceClient<Intercepted> {
        StatusServiceClient::with_interceptor(self.channel.clone(), self.namespace.clone())
    }

    pub(crate) fn operators(&self) -> OperatorServiceClient<Intercepted> {
        OperatorServiceClient::with_interceptor(self.channel.clone(), self.namespace.clone())
    }
}
