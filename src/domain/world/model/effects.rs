//! What is left to be done is done once: every sender of mail that was set aside is told of it.

use std::collections::BTreeMap;

use crate::domain::effects::Effect;
use crate::domain::ids::ThreadId;
use crate::domain::limits;
use crate::domain::mailbox::set_aside::SetAside;
use crate::domain::mailbox::{Envelope, MailException};

use super::db::Db;

/// A stretch of a mailbox that its sender heard of, or will.
type Told = (String, u64, u64);

/// Promise 1: mail that was set aside is told to its sender, or will be, and once.
pub(super) fn told_once(db: &Db) {
    let mut told: BTreeMap<ThreadId, Vec<Told>> = BTreeMap::new();
    for deferred in db.effects.values() {
        let Effect::TellSender { thread_id, mail } = &deferred.effect;
        told.entry(*thread_id)
            .or_default()
            .push(stretch(&mail.data()));
        let pause = deferred.due_time.since(db.now);
        assert!(pause <= limits::EFFECT_PAUSE_MAX, "{deferred:?}");
        assert_whole(db, *thread_id, mail);
    }
    for notice in db.mail.values().flatten() {
        if let Some(data) = &notice.data {
            let heard = told.entry(notice.to_thread_id).or_default();
            heard.push(stretch(data));
        }
    }
    for message in db.mail.values().flatten() {
        let sender = message.from_thread_id;
        let set_aside = message.exception == Some(MailException::SetAside);
        if let Some(sender) = sender.filter(|_| set_aside) {
            let mailbox = message.to_thread_id.to_string();
            let number = message.mail_number;
            let heard = told.get(&sender).into_iter().flatten();
            let times = heard
                .filter(|(of, first, last)| *of == mailbox && *first <= number && number <= *last);
            assert_eq!(times.count(), 1, "told of {message:?}");
        }
    }
}

fn stretch(data: &serde_json::Value) -> Told {
    let mail = &data["set_aside"];
    let number = |name: &str| mail[name].as_u64().unwrap();
    let mailbox = mail["to_thread_id"].as_str().unwrap().to_owned();
    let ends = (number("first_mail_number"), number("last_mail_number"));
    (mailbox, ends.0, ends.1)
}

/// An effect knows all mail of its sender in its stretch, and no other.
fn assert_whole(db: &Db, sender: ThreadId, mail: &SetAside) {
    let own: Vec<Envelope> = db
        .mail_of(mail.to_thread_id)
        .filter(|m| m.exception == Some(MailException::SetAside))
        .filter(|m| m.from_thread_id == Some(sender))
        .filter(|m| mail.first_mail_number <= m.mail_number)
        .filter(|m| m.mail_number <= mail.last_mail_number)
        .filter_map(Envelope::of)
        .collect();
    assert_eq!(own.len() as u64, mail.count, "{mail:?}");
    assert!(own.starts_with(&mail.messages), "{mail:?} of {own:?}");
}
