//! One span a call, and one closing line.
//!
//! The line is written when the answer's body ends or is dropped, not when the handler returns: the
//! code of a gRPC call stands in the trailers, and a stream may end long after its first answer. A
//! call whose caller went away closes as CANCELLED.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Instant;

use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body::{Body, Frame, SizeHint};
use tonic::Code;
use tower::{Layer, Service};
use tracing::{Instrument, Span};

use super::methods;
use crate::app::metrics::Metrics;

/// Metadata of the answer that names the call in our log.
pub const CALL_ID_HEADER: HeaderName = HeaderName::from_static("handoffd-call-id");

/// Metadata of the request that names the tenant.
pub const NAMESPACE_HEADER: HeaderName = HeaderName::from_static("handoffd-namespace");

/// Gives each call its span, its id and its closing line, and counts it.
#[derive(Debug, Clone)]
pub struct TraceLayer {
    ids: Arc<CallIds>,
    metrics: Arc<Metrics>,
}

impl TraceLayer {
    /// A layer whose call ids begin with `process`, which should differ between processes.
    #[must_use]
    pub fn new(process: u32, metrics: Arc<Metrics>) -> Self {
        Self {
            ids: Arc::new(CallIds {
                process,
                next: AtomicU32::new(0),
            }),
            metrics,
        }
    }
}

/// Call ids: for finding a call in the log, so that neither order nor secrecy matters, and a count
/// does.
#[derive(Debug)]
struct CallIds {
    process: u32,
    next: AtomicU32,
}

impl CallIds {
    fn give(&self) -> String {
        format!(
            "{:08x}{:08x}",
            self.process,
            self.next.fetch_add(1, Ordering::Relaxed)
        )
    }
}

impl<S> Layer<S> for TraceLayer {
    type Service = Trace<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Trace {
            inner,
            ids: Arc::clone(&self.ids),
            metrics: Arc::clone(&self.metrics),
        }
    }
}

/// A service whose calls are traced.
#[derive(Debug, Clone)]
pub struct Trace<S> {
    inner: S,
    ids: Arc<CallIds>,
    metrics: Arc<Metrics>,
}

impl<S, A, B> Service<Request<A>> for Trace<S>
where
    S: Service<Request<A>, Response = Response<B>>,
    S::Future: Send + 'static,
{
    type Response = Response<TracedBody<B>>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        let id = self.ids.give();
        let span = tracing::info_span!(
            "rpc",
            method = request.uri().path(),
            namespace = namespace(request.headers()),
            call_id = id,
        );
        let mut call = Call {
            span: span.clone(),
            begin: Instant::now(),
            code: Code::Cancelled,
            method: methods::known(request.uri().path()),
            metrics: Arc::clone(&self.metrics),
        };
        let answer = self.inner.call(request).instrument(span);
        Box::pin(async move {
            let mut response = answer.await?;
            if let Ok(id) = HeaderValue::try_from(id) {
                response.headers_mut().insert(CALL_ID_HEADER, id);
            }
            super::limits::tell_size(response.headers_mut());
            call.read_code(response.headers());
            Ok(response.map(|inner| TracedBody { inner, call }))
        })
    }
}

/// The tenant as the caller named it; never more than a name may hold, since it goes to the log.
fn namespace(headers: &HeaderMap) -> &str {
    let mut values = headers.get_all(&NAMESPACE_HEADER).iter();
    match (values.next(), values.next()) {
        (None, _) => "default",
        (Some(value), None) => value
            .to_str()
            .ok()
            .filter(|name| name.len() <= 63)
            .unwrap_or("(invalid)"),
        (Some(_), Some(_)) => "(invalid)",
    }
}

/// A call that has begun; its closing line is written when it is dropped.
#[derive(Debug)]
struct Call {
    span: Span,
    begin: Instant,
    code: Code,
    method: &'static str,
    metrics: Arc<Metrics>,
}

impl Call {
    fn read_code(&mut self, headers: &HeaderMap) {
        if let Some(code) = headers.get("grpc-status") {
            self.code = Code::from_bytes(code.as_bytes());
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let code = self.code;
        let took = self.begin.elapsed();
        self.metrics
            .call_ended(self.method, methods::code_name(code), took);
        let duration_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let _entered = self.span.enter();
        // Our faults are warnings, the caller's are told, and what goes well is not worth a line
        // unless asked for: at tens of thousands of calls a second the lines would cost more than
        // the calls.
        match code {
            Code::Internal | Code::Unknown | Code::DataLoss => {
                tracing::warn!(?code, duration_us, "call ended");
            }
            // Where the database is away all calls end so: a place of its own, which is counted.
            Code::Unavailable => tracing::warn!(?code, duration_us, "call ended"),
            Code::Ok | Code::Cancelled => tracing::debug!(?code, duration_us, "call ended"),
            _ => tracing::info!(?code, duration_us, "call ended"),
        }
    }
}

/// The body of an answer, which carries its call until it ends.
#[derive(Debug)]
pub struct TracedBody<B> {
    inner: B,
    call: Call,
}

impl<B: Body + Unpin> Body for TracedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let this = &mut *self;
        let _entered = this.call.span.enter();
        let frame = std::task::ready!(Pin::new(&mut this.inner).poll_frame(cx));
        if let Some(Ok(frame)) = &frame
            && let Some(trailers) = frame.trailers_ref()
            && let Some(code) = trailers.get("grpc-status")
        {
            this.call.code = Code::from_bytes(code.as_bytes());
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
