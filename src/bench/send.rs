//! SendMessage: a note from one idle thread to another, with a request id: message, wake and key.

use super::seed::{PARENT, Seed, WORKER};
use super::site::{Site, Wire};
use super::spread::Spread;
use super::{BenchError, Line, Load};
use crate::proto::v1::mailbox_service_client::MailboxServiceClient;
use crate::proto::v1::{MessageKind, SendMessageRequest};

/// Pairs of a sender and a recipient, no thread in two of them. Each takes ten notes in five minutes
/// before its limit refuses, so that a run may send 655,360.
const PAIRS: usize = 1 << 16;

/// Measures notes.
pub(super) async fn run(site: &Site, load: &Load) -> Result<Line, BenchError> {
    let seed = Seed::begin(&site.pool, 0).await?;
    seed.threads(PARENT, 0..PAIRS, false).await?;
    seed.threads(WORKER, PAIRS..2 * PAIRS, false).await?;
    let ids = seed.end().await?;
    let spread = Spread::new(PAIRS);
    let caller = |number| {
        let (client, spread) = (MailboxServiceClient::new(site.wire(number)), spread.clone());
        move || {
            let (pair, count) = spread.next();
            send(
                client.clone(),
                SendMessageRequest {
                    from_thread_id: ids.thread(pair),
                    to_thread_id: ids.thread(PAIRS + pair),
                    kind: MessageKind::Note.into(),
                    subject: "Chapter read".to_owned(),
                    body:
                        "The third chapter is read; the table on its last page is the one you want."
                            .to_owned(),
                    request_id: Some(format!("note-{count}")),
                    ..SendMessageRequest::default()
                },
            )
        }
    };
    let (measured, cost) = site.meter.gauge(load, caller).await?;
    Ok(Line::new("SendMessage", load.callers, &measured).with_cost(cost))
}

async fn send(
    mut client: MailboxServiceClient<Wire>,
    request: SendMessageRequest,
) -> Result<u32, BenchError> {
    client.send_message(request).await?;
    Ok(1)
}
