//! Where the server listens, and how it stops.

use std::net::{Ipv4Addr, SocketAddr};

use super::settings::settings;
use super::values::{MetricsAddress, Span};

settings! {
    /// Where the server listens, whom it lets in, how long it drains.
    ServerSettings from ServerLayer {
        /// Address of the gRPC server [default: 127.0.0.1:7420]
        #[arg(long, env = "HANDOFFD_LISTEN", value_name = "ADDRESS")]
        listen: SocketAddr = SocketAddr::from((Ipv4Addr::LOCALHOST, 7420)),

        /// Listen beyond loopback although nobody is authenticated
        #[arg(
            long,
            env = "HANDOFFD_ALLOW_UNAUTHENTICATED",
            value_name = "BOOL",
            num_args = 0..=1,
            require_equals = true,
            default_missing_value = "true",
            value_parser = clap::builder::BoolishValueParser::new()
        )]
        allow_unauthenticated: bool = false,

        /// Address on which metrics are shown to Prometheus, `http://ADDRESS/metrics` [default: off]
        #[arg(long, env = "HANDOFFD_METRICS_ADDR", value_name = "ADDRESS")]
        metrics_addr: MetricsAddress = MetricsAddress(None),

        /// How long a stop waits for calls in flight before it cuts them [default: 10s]
        #[arg(long, env = "HANDOFFD_DRAIN_TIMEOUT", value_name = "SPAN")]
        drain_timeout: Span = Span::seconds(10),
    }
}

impl ServerSettings {
    /// Adds what is wrong with these settings to `problems`.
    pub(super) fn check(&self, problems: &mut Vec<String>) {
        if !self.listen.ip().is_loopback() && !self.allow_unauthenticated {
            problems.push(format!(
                "`listen` is `{}`, beyond loopback, where everybody may call: give \
                 `--allow-unauthenticated` if that is meant",
                self.listen
            ));
        }
        let metrics = self.metrics_addr.0;
        if let Some(address) = metrics.filter(|it| !it.ip().is_loopback())
            && !self.allow_unauthenticated
        {
            problems.push(format!(
                "`metrics_addr` is `{address}`, beyond loopback, where everybody may read it: give \
                 `--allow-unauthenticated` if that is meant"
            ));
        }
        if metrics.is_some_and(|it| it == self.listen && it.port() != 0) {
            problems.push(
                "`metrics_addr` is the same as `listen`; it needs a port of its own".to_owned(),
            );
        }
        if self.drain_timeout.0.is_zero() {
            problems.push("`drain_timeout` is zero: calls in flight would be cut".to_owned());
        }
    }
}
