//! `handoffd send`.

use std::io::Read;

use clap::{Args, ValueEnum};

use super::client::request_id;
use super::show::word;
use super::{CommonArgs, CtlError};
use crate::proto::v1::{MessageDelivery, MessageKind, SendMessageRequest, SendMessageResponse};
use crate::redact;

/// What `send` takes.
#[derive(Debug, Args)]
pub struct SendArgs {
    #[command(flatten)]
    common: CommonArgs,

    /// The thread that gets it, `thr_...`
    thread: String,

    /// The text; `-` reads it from standard input
    #[arg(long, allow_hyphen_values = true, value_name = "TEXT")]
    body: String,

    /// One line that says what it is about
    #[arg(
        long,
        default_value_t,
        hide_default_value = true,
        allow_hyphen_values = true,
        value_name = "TEXT"
    )]
    subject: String,

    /// The thread it is from; without one it is the operator's own
    #[arg(
        long,
        default_value_t,
        hide_default_value = true,
        value_name = "THREAD"
    )]
    from: String,

    /// What it is for [default: a report from a child to its parent, else a note]
    #[arg(long, value_enum)]
    kind: Option<KindArg>,

    /// Wake nobody; for notes
    #[arg(long)]
    quiet: bool,

    /// Makes a repeat of this command safe [default: a new one]
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,
}

/// What a message is for.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum KindArg {
    Note,
    Report,
    Progress,
}

impl From<KindArg> for MessageKind {
    fn from(kind: KindArg) -> Self {
        match kind {
            KindArg::Note => Self::Note,
            KindArg::Report => Self::Report,
            KindArg::Progress => Self::Progress,
        }
    }
}

pub(super) async fn send(args: SendArgs) -> Result<(), CtlError> {
    let body = match args.body.as_str() {
        "-" => standard_input()?,
        _ => args.body,
    };
    let (client, output) = args.common.open().await?;
    let request = SendMessageRequest {
        from_thread_id: args.from,
        to_thread_id: args.thread,
        kind: args.kind.map_or(0, |kind| MessageKind::from(kind).into()),
        quiet: args.quiet,
        subject: args.subject,
        body,
        request_id: Some(args.request_id.unwrap_or_else(request_id)),
        ..SendMessageRequest::default()
    };
    let answer = client.mailbox().send_message(request).await?;
    output.answer(&answer.into_inner(), text)
}

fn standard_input() -> Result<String, CtlError> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    Ok(text)
}

fn text(answer: &SendMessageResponse) -> String {
    let delivery = word(answer.delivery, MessageDelivery::as_str_name);
    let sent = if answer.message_id.is_empty() {
        delivery
    } else {
        format!("{} sent: {delivery}", answer.message_id)
    };
    let late = if answer.late { " (late)" } else { "" };
    let again = if answer.deduplicated {
        " (repeated)"
    } else {
        ""
    };
    let note = redact::line(&answer.note);
    format!("{sent}{late}{again}\n{note}").trim_end().to_owned()
}
