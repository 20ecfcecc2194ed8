//! The listening socket and its connections.
//!
//! tonic stops gracefully by telling each connection to end once its calls have, and then waits for
//! all of them, however long an idle or frozen client takes. So each connection also carries the
//! hard token, and reads as closed once that is cancelled.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::StreamExt;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::service::Routes;
use tonic::transport::server::{Connected, Server, TcpConnectInfo, TcpIncoming};

use super::lifecycle::Lifecycle;
use crate::app::metrics::Metrics;
use crate::grpc::layers::{MAX_CONCURRENT_STREAMS, TraceLayer};

/// How often a silent connection is asked whether it still lives, so that the waits of a client
/// whose machine went away are dropped.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// How long it may take to answer that.
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(20);

/// Serves `routes` on `listener` until the server is asked to stop; each call is counted.
pub(super) fn serve(
    listener: TcpListener,
    routes: Routes,
    metrics: Arc<Metrics>,
    life: &Lifecycle,
) {
    let hard = life.hard().clone();
    let incoming = TcpIncoming::from(listener)
        .with_nodelay(Some(true))
        .map(move |stream| stream.map(|stream| Cuttable::new(stream, hard.clone())));
    let server = Server::builder()
        .max_concurrent_streams(MAX_CONCURRENT_STREAMS)
        .http2_keepalive_interval(Some(KEEPALIVE))
        .http2_keepalive_timeout(Some(KEEPALIVE_TIMEOUT))
        .layer(TraceLayer::new(rand::random(), metrics))
        .add_routes(routes)
        .serve_with_incoming_shutdown(incoming, life.soft().clone().cancelled_owned());
    life.spawn("grpc", server);
}

/// A connection that reads as aborted once the token is cancelled.
struct Cuttable {
    stream: TcpStream,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Cuttable {
    fn new(stream: TcpStream, cut: CancellationToken) -> Self {
        Self {
            stream,
            cut: Box::pin(cut.cancelled_owned()),
        }
    }
}

impl AsyncRead for Cuttable {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        // Only a read that has to wait looks: a connection whose data never ends has a caller who
        // sees the cut when the process exits.
        if read.is_pending() && self.cut.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        read
    }
}

impl AsyncWrite for Cuttable {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl Connected for Cuttable {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> Self::ConnectInfo {
        self.stream.connect_info()
    }
}

#[cfg(test)]
mod tests;
