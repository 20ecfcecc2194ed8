//! What the servers of this process log as an error. That is a defect, unless a test provoked it and
//! said so. Tests run side by side, so the test that fails may be another one: the line tells which
//! command it was.

use std::collections::VecDeque;
use std::fmt::{Debug, Write as _};
use std::sync::{Mutex, Once};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

static LOGGED: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// The newest warnings: why a call failed stands there, and not in its answer.
static WARNED: Mutex<VecDeque<String>> = Mutex::new(VecDeque::new());
static EXPECTED: Mutex<Vec<&str>> = Mutex::new(Vec::new());

/// Warnings that are kept.
const KEPT: usize = 30;

/// Notes errors and warnings from now on.
pub(crate) fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let subscriber = tracing_subscriber::registry().with(Watch.with_filter(LevelFilter::WARN));
        tracing::subscriber::set_global_default(subscriber).unwrap();
    });
}

/// Errors that say `text` are provoked by a test.
pub(crate) fn expect(text: &'static str) {
    EXPECTED.lock().unwrap().push(text);
}

/// Fails the test if any error was logged that none provoked.
pub(crate) fn check() {
    let expected = EXPECTED.lock().unwrap().clone();
    let mut logged = std::mem::take(&mut *LOGGED.lock().unwrap());
    logged.retain(|line| !expected.iter().any(|text| line.contains(text)));
    assert!(logged.is_empty(), "logged as errors: {logged:#?}");
}

/// Shows the newest warnings of all tests of this process, for one that fails.
#[expect(clippy::print_stderr, reason = "the harness shows it with the failure")]
pub(crate) fn show_warnings() {
    for line in &*WARNED.lock().unwrap() {
        eprintln!("warned: {line}");
    }
}

struct Watch;

impl<S: Subscriber> Layer<S> for Watch {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut line = Line(event.metadata().target().to_owned());
        event.record(&mut line);
        if *event.metadata().level() == Level::ERROR {
            LOGGED.lock().unwrap().push(line.0);
            return;
        }
        let mut warned = WARNED.lock().unwrap();
        warned.push_back(line.0);
        if warned.len() > KEPT {
            warned.pop_front();
        }
    }
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {}={value:?}", field.name()).unwrap();
    }
}
