//! `handoffd results`: whatever a handoff produced so far.

use clap::Args;

use super::output::Sheet;
use super::show::{excerpt, time, word};
use super::status::{add_handoff, add_progress};
use super::{CommonArgs, CtlError};
use crate::proto::v1::{
    GetHandoffResultsRequest, GetHandoffResultsResponse, Outcome, Report, ReportDelivery,
    ReportKind, UsageTotals,
};
use crate::redact;

/// The characters of a result that the sheet shows: all of the largest one.
const LONGEST_RESULT: usize = 64_000;

/// What `results` takes.
#[derive(Debug, Args)]
pub struct ResultsArgs {
    #[command(flatten)]
    common: CommonArgs,

    /// The handoff, `hnd_...`
    handoff: String,
}

pub(super) async fn results(args: ResultsArgs) -> Result<(), CtlError> {
    let (client, output) = args.common.open().await?;
    let request = GetHandoffResultsRequest {
        handoff_id: args.handoff,
    };
    let answer = client.handoffs().get_handoff_results(request).await?;
    output.answer(&answer.into_inner(), text)
}

fn text(answer: &GetHandoffResultsResponse) -> String {
    let mut sheet = Sheet::default();
    if let Some(handoff) = &answer.handoff {
        add_handoff(&mut sheet, handoff);
    }
    if answer.partial {
        sheet.add("result", "none recorded");
        if let Some(progress) = &answer.progress {
            add_progress(&mut sheet, progress);
        }
    }
    let whole = |text: &String| excerpt(text, LONGEST_RESULT);
    sheet.add_some("result", answer.result.as_ref().map(whole));
    sheet.add_some(
        "latest response",
        answer.latest_response.as_ref().map(whole),
    );
    for report in &answer.reports {
        // The result is the body of the report that completed the handoff: once is enough.
        let repeats = answer.result.as_deref() == Some(report.body.as_str());
        sheet.add(
            &format!("version {}", report.version),
            told(report, repeats),
        );
    }
    sheet.add_some("usage", answer.usage.as_ref().map(usage));
    sheet.text()
}

fn told(report: &Report, repeats: bool) -> String {
    let mut told = format!(
        "{}, {}, {}",
        word(report.kind, ReportKind::as_str_name),
        word(report.outcome, Outcome::as_str_name),
        time(report.create_time),
    );
    match (report.deliver_time, report.delivery()) {
        (Some(at), _) => told = format!("{told}, delivered {}", time(Some(at))),
        (None, ReportDelivery::Delivered) => told.push_str(", delivered"),
        (None, ReportDelivery::Pending) => told.push_str(", not delivered yet"),
        (None, ReportDelivery::None | ReportDelivery::Unspecified) => {}
    }
    let subject = redact::line(&report.subject);
    let body = if repeats {
        "(the result above)".to_owned()
    } else {
        excerpt(&report.body, LONGEST_RESULT)
    };
    let artifacts = report.artifacts.iter().map(|it| redact::line(it));
    let parts = [subject, body].into_iter().chain(artifacts);
    for part in parts.filter(|part| !part.is_empty()) {
        told.push('\n');
        told.push_str(&part);
    }
    told
}

fn usage(usage: &UsageTotals) -> String {
    let some = |count: Option<u64>, what: &str| count.map(|count| format!("{what}: {count}"));
    [
        some(Some(usage.turns), "turns"),
        some(usage.tool_calls, "tool calls"),
        some(usage.input_tokens, "input tokens"),
        some(usage.output_tokens, "output tokens"),
    ]
    .into_iter()
    .flatten()
    .collect::<Vec<_>>()
    .join(", ")
}
