//! What the servers of this process log as an error. That is a defect, unless a test provoked it and
//! said so. Tests run side by side, so the test that fails may be another one: the line tells which
//! command it was.

use std::fmt::{Debug, Write as _};
use std::sync::{Mutex, Once};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

static LOGGED: Mutex<Vec<String>> = Mutex::new(Vec::new());
static EXPECTED: Mutex<Vec<&str>> = Mutex::new(Vec::new());

/// Notes errors from now on.
pub(crate) fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let subscriber = tracing_subscriber::registry().with(Watch.with_filter(LevelFilter::ERROR));
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

struct Watch;

impl<S: Subscriber> Layer<S> for Watch {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut line = Line(event.metadata().target().to_owned());
        event.record(&mut line);
        LOGGED.lock().unwrap().push(line.0);
    }
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {}={value:?}", field.name()).unwrap();
    }
}
