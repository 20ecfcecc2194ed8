//! Every gRPC service of the server, put together.

use std::sync::Arc;

use tonic::service::{Routes, RoutesBuilder};
use tonic_health::pb::health_server::HealthServer;
use tonic_reflection::server::{Builder, Error};

use super::health::Readiness;
use crate::app::App;
use crate::grpc::agents::Agents;
use crate::grpc::handoff_status::HandoffStatuses;
use crate::grpc::handoffs::Handoffs;
use crate::grpc::layers::limited;
use crate::grpc::mailbox::Mailbox;
use crate::grpc::operator::Operators;
use crate::grpc::runtime::Runtimes;
use crate::grpc::threads::Threads;
use crate::proto;
use crate::proto::v1::agent_service_server::AgentServiceServer;
use crate::proto::v1::handoff_service_server::HandoffServiceServer;
use crate::proto::v1::mailbox_service_server::MailboxServiceServer;
use crate::proto::v1::operator_service_server::OperatorServiceServer;
use crate::proto::v1::runtime_service_server::RuntimeServiceServer;
use crate::proto::v1::status_service_server::StatusServiceServer;
use crate::proto::v1::thread_service_server::ThreadServiceServer;

/// The services, ready to be served.
///
/// # Errors
/// Descriptors that contradict each other, which is a fault of the build.
pub(super) fn routes(readiness: Readiness, app: &Arc<App>) -> Result<Routes, Error> {
    let app = || Arc::clone(app);
    let mut routes = RoutesBuilder::default();
    routes.add_service(limited!(AgentServiceServer::new(Agents::new(app()))));
    routes.add_service(limited!(ThreadServiceServer::new(Threads::new(app()))));
    routes.add_service(limited!(MailboxServiceServer::new(Mailbox::new(app()))));
    routes.add_service(limited!(RuntimeServiceServer::new(Runtimes::new(app()))));
    routes.add_service(limited!(HandoffServiceServer::new(Handoffs::new(app()))));
    routes.add_service(limited!(StatusServiceServer::new(HandoffStatuses::new(
        app()
    ))));
    routes.add_service(limited!(OperatorServiceServer::new(Operators::new(app()))));
    routes.add_service(limited!(HealthServer::new(readiness)));
    // Both versions: grpcurl and some clients still ask for v1alpha only.
    routes.add_service(limited!(reflection().build_v1()?));
    routes.add_service(limited!(reflection().build_v1alpha()?));
    Ok(routes.routes())
}

fn reflection() -> Builder<'static> {
    Builder::configure()
        .register_encoded_file_descriptor_set(proto::FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        // No service of ours names these, but clients need them to show the details of an error.
        .register_encoded_file_descriptor_set(tonic_types::pb::FILE_DESCRIPTOR_SET)
}
