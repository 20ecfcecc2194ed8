//! `handoffd doctor`: whether a server is well, and whether what is stored keeps every promise.

mod violations;

use std::collections::BTreeMap;

use clap::Args;
use serde_json::json;
use tonic::{Code, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_types::StatusExt;

use super::client::Client;
use super::output::{Sheet, note, table};
use super::show::{span, word};
use super::{CommonArgs, CtlError, json};
use crate::proto::v1::{
    CheckInvariantsRequest, CheckInvariantsResponse, GetServerRequest, InvariantCheck,
    ListAgentsRequest, ListenerState, LongTransaction, Server,
};
use crate::redact;

/// A difference of the clocks that is worth a word.
const CLOCKS_DIFFER: i64 = 2;

/// What `doctor` takes.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    common: CommonArgs,

    /// Check only this invariant; may be given several times
    #[arg(long = "invariant", value_name = "NAME")]
    invariants: Vec<String>,

    /// Show everything that breaks an invariant, and not the first few things only
    #[arg(long)]
    all: bool,
}

/// What was found.
struct Report {
    ready: bool,
    server: Server,
    check: CheckInvariantsResponse,
}

pub(super) async fn doctor(args: DoctorArgs) -> Result<(), CtlError> {
    let (client, output) = args.common.open().await?;
    // A name is a sentence, and may be written as one.
    let names = args.invariants.iter();
    let names: Vec<String> = names.map(|it| it.trim().replace(' ', "_")).collect();
    let server = client.operators().get_server(GetServerRequest {}).await?;
    let report = Report {
        ready: is_ready(&client).await?,
        server: server.into_inner().server.unwrap_or_default(),
        check: whole_check(&client, &names).await?,
    };
    output.value(|| report.document(), || report.text(args.all))?;
    for advice in report.advice() {
        note(&advice);
    }
    if report.saw_nothing() {
        let namespace = redact::line(&args.common.server.namespace);
        note(&if has_agents(&client).await? {
            format!("namespace `{namespace}` has nothing yet that was asked about")
        } else {
            format!("namespace `{namespace}` has no agents: it does not exist, or was never used")
        });
    }
    report.verdict()
}

/// Whether the namespace has any: the first one makes it, and nothing is there without one.
async fn has_agents(client: &Client) -> Result<bool, CtlError> {
    let request = ListAgentsRequest {
        page_size: Some(1),
        ..ListAgentsRequest::default()
    };
    let page = client.agents().list_agents(request).await?.into_inner();
    Ok(!page.agents.is_empty())
}

async fn is_ready(client: &Client) -> Result<bool, CtlError> {
    let request = HealthCheckRequest {
        service: "readiness".to_owned(),
    };
    let answer = client.health().check(request).await?;
    Ok(answer.into_inner().status() == ServingStatus::Serving)
}

/// Asks until the check is finished, and adds up what the calls tell.
async fn whole_check(
    client: &Client,
    names: &[String],
) -> Result<CheckInvariantsResponse, CtlError> {
    let mut whole = CheckInvariantsResponse::default();
    let mut counts: BTreeMap<String, InvariantCheck> = BTreeMap::new();
    let mut order = Vec::new();
    loop {
        let request = CheckInvariantsRequest {
            names: names.to_vec(),
            page_token: whole.next_page_token,
        };
        let answer = client
            .operators()
            .check_invariants(request)
            .await
            .map_err(refused)?
            .into_inner();
        for check in answer.invariants {
            if let Some(sum) = counts.get_mut(&check.name) {
                sum.looked_at += check.looked_at;
                sum.broken += check.broken;
                sum.finished = check.finished;
            } else {
                order.push(check.name.clone());
                counts.insert(check.name.clone(), check);
            }
        }
        whole.violations.extend(answer.violations);
        whole.unchecked_ids.extend(answer.unchecked_ids);
        whole.next_page_token = answer.next_page_token;
        if whole.next_page_token.is_empty() {
            whole.invariants = order
                .iter()
                .filter_map(|name| counts.remove(name))
                .collect();
            return Ok(whole);
        }
        let looked_at = counts
            .values()
            .map(|it| it.looked_at)
            .max()
            .unwrap_or_default();
        let finished = counts.values().filter(|it| it.finished).count();
        note(&format!(
            "{looked_at} things looked at so far; {finished} of {} invariants are finished",
            counts.len()
        ));
    }
}

/// A field that the server finds wrong came from the flag.
fn refused(status: Status) -> CtlError {
    let wrong = status.get_details_bad_request();
    let wrong = wrong.into_iter().flat_map(|it| it.field_violations);
    let mut wrong =
        wrong.filter(|it| status.code() == Code::InvalidArgument && it.field == "names");
    match wrong.next() {
        Some(it) => CtlError::Usage(format!("`--invariant` {}", redact::line(&it.description))),
        None => status.into(),
    }
}

impl Report {
    fn document(&self) -> Result<serde_json::Value, CtlError> {
        Ok(json!({
            "ready": self.ready,
            "server": json::value(&self.server)?,
            "check": json::value(&self.check)?,
        }))
    }

    fn text(&self, all: bool) -> String {
        let server = &self.server;
        let mut sheet = Sheet::default();
        let ready = if self.ready { "ready" } else { "not ready" };
        sheet.add(
            "server",
            format!("handoffd {}, {ready}", redact::line(&server.release)),
        );
        let schema = server
            .schema_version
            .map(|schema| format!(", schema {schema}"));
        let version = redact::line(&server.database_version);
        sheet.add(
            "database",
            format!("PostgreSQL {version}{}", schema.unwrap_or_default()),
        );
        sheet.add("clock", clock(server));
        sheet.add(
            "listener",
            word(server.listener_state, ListenerState::as_str_name),
        );
        sheet.add(
            "long transactions",
            server.long_transactions.len().to_string(),
        );
        let mut parts = vec![sheet.text()];
        let header = ["INVARIANT", "LOOKED AT", "BROKEN"];
        let rows = self.check.invariants.iter().map(|it| {
            let name = redact::line(&it.name);
            [name, it.looked_at.to_string(), it.broken.to_string()]
        });
        parts.push(table(header, rows.collect()));
        parts.extend(violations::text(&self.check, all));
        parts.join("\n\n")
    }

    /// There was nothing to look at, which proves nothing.
    fn saw_nothing(&self) -> bool {
        self.check.invariants.iter().all(|it| it.looked_at == 0)
    }

    /// What a person might look at, although nothing is broken by it.
    fn advice(&self) -> Vec<String> {
        let mut advice = Vec::new();
        let ahead = self.server.clock_ahead.unwrap_or_default();
        if ahead.seconds.abs() >= CLOCKS_DIFFER {
            advice.push(
                "the clocks of server and database differ; set them by one source".to_owned(),
            );
        }
        if self.server.listener_state() == ListenerState::Lost {
            let lost = "the server does not hear of others' commits, and polls; look at its log";
            advice.push(lost.to_owned());
        }
        advice.extend(self.server.long_transactions.iter().map(holds_up));
        advice.extend(self.check.unchecked_ids.iter().map(|id| {
            format!(
                "`{}` has too much to look at in time; it was left out",
                redact::line(id)
            )
        }));
        advice
    }

    fn verdict(&self) -> Result<(), CtlError> {
        let broken = self.check.violations.len();
        if broken > 0 {
            return Err(CtlError::Unwell(format!(
                "{broken} violation(s) of invariants"
            )));
        }
        if self.ready {
            Ok(())
        } else {
            Err(CtlError::Unwell("the server is not ready".to_owned()))
        }
    }
}

fn clock(server: &Server) -> String {
    let ahead = server.clock_ahead.unwrap_or_default();
    let side = if ahead.seconds < 0 || ahead.nanos < 0 {
        "behind"
    } else {
        "ahead of"
    };
    if ahead.seconds == 0 {
        let millis = ahead.nanos.abs() / 1_000_000;
        return format!("{millis} ms {side} the database's");
    }
    let seconds = ahead.seconds.abs();
    let whole = prost_types::Duration { seconds, nanos: 0 };
    format!("{} {side} the database's", span(Some(whole)))
}

fn holds_up(it: &LongTransaction) -> String {
    let does = if it.idle {
        "idle in a transaction"
    } else {
        "in a transaction"
    };
    format!(
        "process {} ({}) is {does} for {} and holds back the database's cleaning",
        it.process_id,
        redact::line(&it.application),
        span(it.age),
    )
}
