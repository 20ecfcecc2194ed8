//! ReadMail: a mailbox that no runtime drives, read to its end with a request id: marks, history, key.

use super::seed::Seed;
use super::site::{Site, Wire};
use super::spread::Spread;
use super::{BenchError, Line, Load};
use crate::proto::v1::ReadMailRequest;
use crate::proto::v1::mailbox_service_client::MailboxServiceClient;

/// Mailboxes with one message each. When all are read the measurement ends early, and its figure holds.
const MAILBOXES: usize = 1 << 17;

/// Measures reads that consume.
pub(super) async fn run(site: &Site, load: &Load) -> Result<Line, BenchError> {
    let seed = Seed::begin(&site.pool, 0).await?;
    seed.mailboxes(MAILBOXES).await?;
    let ids = seed.end().await?;
    let spread = Spread::new(MAILBOXES);
    let caller = |number| {
        let (client, spread) = (MailboxServiceClient::new(site.wire(number)), spread.clone());
        move || {
            let (mailbox, count) = spread.next();
            read(
                client.clone(),
                ReadMailRequest {
                    thread_id: ids.thread(mailbox),
                    request_id: Some(format!("read-{count}")),
                    ..ReadMailRequest::default()
                },
            )
        }
    };
    let (measured, cost) = site.meter.gauge(load, caller).await?;
    Ok(Line::new("ReadMail", load.callers, &measured).with_cost(cost))
}

async fn read(
    mut client: MailboxServiceClient<Wire>,
    request: ReadMailRequest,
) -> Result<u32, BenchError> {
    let answer = client.read_mail(request).await?;
    Ok(u32::try_from(answer.into_inner().messages.len()).unwrap_or(u32::MAX))
}
