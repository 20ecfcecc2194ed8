//! What the requests on mail ask for.

use std::time::Duration;

use crate::app::error::Error;
use crate::app::mailbox::ListMail;
use crate::domain::caller::Caller;
use crate::domain::handoffs::Outcome;
use crate::domain::limits;
use crate::domain::mailbox::MessageKind;
use crate::domain::mailbox::ack::AckMail;
use crate::domain::mailbox::read::ReadMail;
use crate::domain::mailbox::send::SendMessage;
use crate::grpc::check::Check;
use crate::proto::v1;

/// Characters of one artifact reference.
const ARTIFACT_CHARS: usize = 1_024;

/// SendMessage, and its request id.
pub(super) fn send(
    request: v1::SendMessageRequest,
) -> Result<(SendMessage, Option<String>), Error> {
    let mut check = Check::default();
    let kind = send_kind(&mut check, request.kind);
    let command = SendMessage {
        caller: check.caller(request.turn),
        from: check.opt_id("from_thread_id", &request.from_thread_id),
        to: check.opt_id("to_thread_id", &request.to_thread_id),
        to_agent: check.opt_agent_id("to_agent_id", request.to_agent_id),
        kind,
        quiet: request.quiet,
        subject: check.line("subject", request.subject, limits::LINE_CHARS),
        body: check.required_text("body", request.body, limits::BODY_CHARS),
        data: check.json("data", request.data, limits::JSON_BYTES),
        artifacts: artifacts(&mut check, request.artifacts),
        outcome: outcome(&mut check, request.outcome),
        in_reply_to: check.opt_id("in_reply_to", &request.in_reply_to),
        handoff: check.opt_id("handoff_id", &request.handoff_id),
    };
    let request_id = check.request_id(request.request_id);
    check_fit(&mut check, &command);
    check.finish((command, request_id))
}

fn send_kind(check: &mut Check, kind: i32) -> Option<MessageKind> {
    let kind = check.choice("kind", kind);
    if matches!(kind, Some(MessageKind::Reminder | MessageKind::Notice)) {
        check.wrong(
            "kind",
            "is sent by the server only; use REPORT, PROGRESS or NOTE",
        );
    }
    kind
}

fn outcome(check: &mut Check, outcome: Option<i32>) -> Option<Outcome> {
    let outcome = check.opt_choice("outcome", outcome);
    if matches!(outcome, Some(Outcome::Cancelled | Outcome::Abandoned)) {
        check.wrong("outcome", "must be SUCCEEDED, BLOCKED or FAILED");
    }
    outcome
}

fn artifacts(check: &mut Check, artifacts: Vec<String>) -> Vec<String> {
    check.at_most("artifacts", artifacts.len(), limits::ARTIFACTS);
    let each = artifacts.into_iter().take(limits::ARTIFACTS).enumerate();
    each.map(|(at, artifact)| {
        check.required_text(&format!("artifacts[{at}]"), artifact, ARTIFACT_CHARS)
    })
    .collect()
}

/// What goes with which kind, as far as the request tells by itself.
fn check_fit(check: &mut Check, command: &SendMessage) {
    let upward = matches!(
        command.kind,
        Some(MessageKind::Report | MessageKind::Progress)
    );
    if command.quiet && upward {
        check.wrong("quiet", "is for a NOTE only");
    }
    let no_report = command.kind.is_some_and(|kind| kind != MessageKind::Report);
    if command.outcome.is_some() && no_report {
        check.wrong("outcome", "is for a REPORT only");
    }
    let no_sender = command.caller == Caller::Operator && command.from.is_none();
    if no_sender && upward {
        check.wrong(
            "from_thread_id",
            "or `turn` is required for a REPORT or PROGRESS",
        );
    }
    let is_note = command.kind == Some(MessageKind::Note) || command.quiet;
    if command.to.is_none() && !upward && (is_note || no_sender) {
        check.wrong("to_thread_id", "is required, but for a REPORT or PROGRESS");
    }
}

/// ReadMail, how long it waits, and its request id.
pub(super) fn read(
    request: v1::ReadMailRequest,
) -> Result<(ReadMail, Duration, Option<String>), Error> {
    let mut check = Check::default();
    let caller = check.caller(request.turn);
    let peek = request.peek;
    let command = ReadMail {
        caller,
        thread: check.opt_id("thread_id", &request.thread_id),
        received_through: request.received_through,
        max_messages: max_messages(&mut check, request.max_messages),
        peek,
        kinds: kinds(&mut check, &request.kinds),
    };
    if caller == Caller::Operator && request.thread_id.is_empty() {
        check.wrong("thread_id", "is required where no `turn` reads");
    }
    if caller == Caller::Operator && !peek && command.received_through.is_some() {
        check.wrong("received_through", "is for a `turn` or a `peek` only");
    }
    if !peek && !request.kinds.is_empty() {
        check.wrong("kinds", "filters a `peek` only");
    }
    let request_id = check.request_id(request.request_id);
    if request_id.is_some() && (peek || caller != Caller::Operator) {
        check.wrong(
            "request_id",
            "does not go with `turn` or `peek`, which repeat safely",
        );
    }
    let wait = request.wait.map_or(Duration::ZERO, |wait| {
        check.duration("wait", wait, limits::WAIT_MAX)
    });
    check.finish((command, wait, request_id))
}

fn max_messages(check: &mut Check, max: Option<i32>) -> usize {
    let Some(max) = max else {
        return limits::PAGE_DEFAULT;
    };
    let fits = usize::try_from(max).ok();
    let fits = fits.filter(|max| (1..=limits::PAGE_MAX).contains(max));
    fits.unwrap_or_else(|| {
        let most = limits::PAGE_MAX;
        check.wrong("max_messages", format!("must be 1 to {most}"));
        limits::PAGE_DEFAULT
    })
}

fn kinds(check: &mut Check, kinds: &[i32]) -> Vec<MessageKind> {
    let each = kinds.iter().enumerate();
    each.map(|(at, kind)| check.required_choice(&format!("kinds[{at}]"), *kind, MessageKind::Note))
        .collect()
}

/// AckMail, and its request id.
pub(super) fn ack(request: v1::AckMailRequest) -> Result<(AckMail, Option<String>), Error> {
    let mut check = Check::default();
    if request.received_through.is_none() && request.reports.is_empty() {
        check.wrong("received_through", "or `reports` is required");
    }
    let caller = check.caller(request.turn);
    if caller == Caller::Operator && request.thread_id.is_empty() {
        check.wrong("thread_id", "is required where no `turn` acknowledges");
    }
    let command = AckMail {
        caller,
        thread: check.opt_id("thread_id", &request.thread_id),
        received_through: request.received_through,
        reports: check.report_acks(&request.reports),
    };
    let request_id = check.request_id(request.request_id);
    check.finish((command, request_id))
}

/// ListMail, without its place: that is in the page token.
pub(super) fn list(request: &v1::ListMailRequest) -> Result<ListMail, Error> {
    let mut check = Check::default();
    let states = request.states.iter().enumerate();
    let states = states.map(|(at, state)| {
        let field = format!("states[{at}]");
        let stand_in = crate::domain::mailbox::MessageState::Unread;
        check.required_choice(&field, *state, stand_in)
    });
    let states = states.collect();
    let list = ListMail {
        thread_id: check.id("thread_id", &request.thread_id),
        states,
        above: 0,
        page_size: check.page_size(request.page_size),
    };
    check.finish(list)
}
