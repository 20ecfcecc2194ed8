//! `handoffd mail`: a mailbox as it is, with the state of each message.

use clap::{Args, ValueEnum};

use super::client::{at_least_one, pages, token};
use super::output::table;
use super::show::{excerpt, span, word};
use super::{CommonArgs, CtlError};
use crate::proto::v1::{
    ListMailRequest, ListMailResponse, Message, MessageKind, MessageState, Outcome,
};
use crate::redact;

/// The characters of a body that the table shows.
const EXCERPT: usize = 2000;

/// What `mail` takes.
#[derive(Debug, Args)]
pub struct MailArgs {
    #[command(flatten)]
    common: CommonArgs,

    /// The thread, `thr_...`
    thread: String,

    /// Only messages in this state; may be given several times
    #[arg(long, value_enum, value_name = "STATE")]
    state: Vec<StateArg>,

    /// Most messages to show
    #[arg(long, default_value_t = 200, value_parser = at_least_one, value_name = "NUMBER")]
    limit: usize,
}

/// Where a message stands.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum StateArg {
    Unread,
    Given,
    Consumed,
    SetAside,
    Withdrawn,
}

impl From<StateArg> for MessageState {
    fn from(state: StateArg) -> Self {
        match state {
            StateArg::Unread => Self::Unread,
            StateArg::Given => Self::Given,
            StateArg::Consumed => Self::Consumed,
            StateArg::SetAside => Self::SetAside,
            StateArg::Withdrawn => Self::Withdrawn,
        }
    }
}

pub(super) async fn mail(args: MailArgs) -> Result<(), CtlError> {
    let (client, output) = args.common.open().await?;
    let states = args.state.iter().map(|it| MessageState::from(*it).into());
    let states: Vec<i32> = states.collect();
    let mut document = ListMailResponse::default();
    let read = pages(args.limit, String::new(), async |size, page_token| {
        let request = ListMailRequest {
            thread_id: args.thread.clone(),
            states: states.clone(),
            page_size: Some(size),
            page_token,
        };
        let page = client.mailbox().list_mail(request).await?.into_inner();
        document.given_through = page.given_through;
        document.consumed_through = page.consumed_through;
        Ok((page.messages, token(page.next_page_token)))
    })
    .await?;
    document.messages = read.rows;
    document.next_page_token = read.next.unwrap_or_default();
    output.answer(&document, |document| {
        let header = ["NO", "STATE", "KIND", "FROM", "AGE", "MESSAGE"];
        table(header, document.messages.iter().map(row).collect())
    })?;
    output.cut(
        document.messages.len(),
        !document.next_page_token.is_empty(),
    );
    Ok(())
}

fn row(message: &Message) -> [String; 6] {
    let from = if message.from_operator {
        "operator".to_owned()
    } else if message.from_thread_id.is_empty() {
        "server".to_owned()
    } else {
        let agent = redact::line(&message.from_agent_id);
        format!("{agent}\n{}", message.from_thread_id)
    };
    let mut kind = word(message.kind, MessageKind::as_str_name);
    if let Some(outcome) = message.outcome.filter(|it| *it != 0) {
        kind = format!("{kind}, {}", word(outcome, Outcome::as_str_name));
    }
    if message.late {
        kind.push_str(", late");
    }
    if message.quiet {
        kind.push_str(", quiet");
    }
    let subject = redact::line(&message.subject);
    let body = excerpt(&message.body, EXCERPT);
    [
        message.mail_number.to_string(),
        word(message.state, MessageState::as_str_name),
        kind,
        from,
        span(message.age),
        if subject.is_empty() {
            body
        } else {
            format!("{subject}\n{body}")
        },
    ]
}
