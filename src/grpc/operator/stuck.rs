//! `ListStuck`, as the wire spells it.

use crate::app::operator::{StuckItem, StuckPage};
use crate::domain::status::stuck::{Stuck, StuckKind};
use crate::domain::time::Timestamp;
use crate::grpc::encode::{duration, opt_id, timestamp};
use crate::grpc::encode_status::hint_action;
use crate::proto::v1;

/// The items of a page. One has 2 KiB at most, so a page fits an answer.
pub(super) fn items(page: &StuckPage) -> Vec<v1::StuckItem> {
    let now = page.now;
    page.items.iter().map(|found| item(found, now)).collect()
}

fn item(found: &StuckItem, now: Option<Timestamp>) -> v1::StuckItem {
    v1::StuckItem {
        handoff_id: opt_id(found.handoff_id.as_ref()),
        thread_id: opt_id(found.thread_id.as_ref()),
        agent_id: opt_id(found.agent_id.as_ref()),
        title: found.title.clone(),
        count: found.count,
        ..of(&found.stuck, now)
    }
}

/// What is the case, without what it is about.
pub(super) fn of(stuck: &Stuck, now: Option<Timestamp>) -> v1::StuckItem {
    v1::StuckItem {
        kind: kind(stuck.kind).into(),
        since: Some(timestamp(stuck.since)),
        age: now.map(|now| duration(now.since(stuck.since))),
        remedy: Some(v1::Hint {
            action: hint_action(stuck.action).into(),
            text: stuck.text.clone(),
        }),
        ..v1::StuckItem::default()
    }
}

fn kind(kind: StuckKind) -> v1::StuckKind {
    match kind {
        StuckKind::ChildMissing => v1::StuckKind::ChildMissing,
        StuckKind::NeverBegan => v1::StuckKind::NeverBegan,
        StuckKind::NoProgress => v1::StuckKind::NoProgress,
        StuckKind::Unclaimed => v1::StuckKind::Unclaimed,
        StuckKind::EffectPutOff => v1::StuckKind::EffectPutOff,
        StuckKind::MailHeld => v1::StuckKind::MailHeld,
        StuckKind::Quiet => v1::StuckKind::Quiet,
        StuckKind::SlotsShort => v1::StuckKind::SlotsShort,
        StuckKind::MailSetAside => v1::StuckKind::MailSetAside,
    }
}
