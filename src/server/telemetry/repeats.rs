//! Warnings that repeat themselves: the first few are written, the others are counted.
//!
//! While a database is away each refused call, each row and each job has the same to say, thousands of
//! times a second. Each place in the source may warn a few times; from then on a line now and then
//! says how often it would have, and one says that it is over. Errors and what is told of single calls
//! are never held back.

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::callsite::Identifier;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// Lines of one place that are written before the others are counted.
const WRITTEN: u64 = 3;
/// How often is told what was held back.
pub(super) const PERIOD: Duration = Duration::from_secs(10);
/// Where the lines of this module come from, which are never held back.
const TARGET: &str = "handoffd::log";

/// See the module. Clones share what they saw.
#[derive(Clone, Debug, Default)]
pub(super) struct Repeats {
    places: Arc<Mutex<HashMap<Identifier, Place>>>,
}

/// What one place in the source had to say.
#[derive(Debug)]
struct Place {
    message: String,
    begin: Instant,
    /// Lines since it began.
    count: u64,
    /// Lines that were told of, written or counted.
    told: u64,
}

/// What is to be told of a place.
#[derive(Debug, PartialEq, Eq)]
enum News {
    /// So many lines were held back since the last time.
    Held(u64),
    /// None came any more; so many were held back in all.
    Over(u64),
    /// None came any more, and none was held back.
    Nothing,
}

impl Place {
    fn new(event: &Event<'_>, begin: Instant) -> Self {
        let mut message = Message::default();
        event.record(&mut message);
        Self {
            message: message.0,
            begin,
            count: 0,
            told: 0,
        }
    }

    /// Whether the next line is written.
    fn is_written(&mut self) -> bool {
        self.count += 1;
        let written = self.count <= WRITTEN;
        if written {
            self.told = self.count;
        }
        written
    }

    /// What happened since it was asked before; what is over may be forgotten.
    fn news(&mut self) -> News {
        let held = self.count - self.told;
        self.told = self.count;
        match (held, self.count.saturating_sub(WRITTEN)) {
            (0, 0) => News::Nothing,
            (0, all) => News::Over(all),
            (held, _) => News::Held(held),
        }
    }
}

impl Repeats {
    /// Tells now and then what was held back, for as long as the process lives.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub(super) fn tell_in_background(&self) -> std::io::Result<()> {
        let repeats = self.clone();
        let tell = move || {
            loop {
                std::thread::park_timeout(PERIOD);
                repeats.tell();
            }
        };
        std::thread::Builder::new()
            .name("log".to_owned())
            .spawn(tell)?;
        Ok(())
    }

    /// Tells what was held back since the last time.
    fn tell(&self) {
        let mut news = Vec::new();
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.retain(|_, place| {
            let told = place.news();
            let goes_on = matches!(told, News::Held(_));
            news.push((place.message.clone(), place.begin.elapsed(), told));
            goes_on
        });
        // What is told goes through this layer again.
        drop(places);
        for (line, since, news) in news {
            let seconds = since.as_secs();
            match news {
                News::Held(count) => {
                    tracing::warn!(target: TARGET, line, count, seconds, "lines held back");
                }
                News::Over(count) => {
                    tracing::info!(target: TARGET, line, count, seconds, "no more of these lines");
                }
                News::Nothing => {}
            }
        }
    }
}

impl<S: Subscriber> Layer<S> for Repeats {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        let metadata = event.metadata();
        if *metadata.level() != Level::WARN || metadata.target() == TARGET {
            return true;
        }
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let place = places.entry(metadata.callsite());
        place
            .or_insert_with(|| Place::new(event, Instant::now()))
            .is_written()
    }
}

/// What a line says, without its fields.
#[derive(Default)]
struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            // Nothing fails to be written to a string.
            let _ = write!(self.0, "{value:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    /// What was written: level, message and count.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<String>>>);

    impl<S: Subscriber> Layer<S> for Lines {
        fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
            let mut line = Line(event.metadata().level().to_string());
            event.record(&mut line);
            self.0.lock().unwrap().push(line.0);
        }
    }

    struct Line(String);

    impl Visit for Line {
        fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
            if field.name() != "seconds" {
                write!(self.0, " {}={value:?}", field.name()).unwrap();
            }
        }
    }

    #[test]
    fn what_repeats_itself_is_counted_until_it_is_over() {
        let (repeats, lines) = (Repeats::default(), Lines::default());
        let subscriber = tracing_subscriber::registry()
            .with(repeats.clone())
            .with(lines.clone());
        let written = || std::mem::take(&mut *lines.0.lock().unwrap());
        tracing::subscriber::with_default(subscriber, || {
            let away = |count| (0..count).for_each(|_| tracing::warn!("away"));
            away(100);
            (0..5).for_each(|_| tracing::error!("defect"));
            let first = written();
            assert_eq!(first[..3], ["WARN message=away"; 3]);
            assert_eq!(first[3..], ["ERROR message=defect"; 5]);
            repeats.tell();
            let count = "WARN message=lines held back line=\"away\" count=97";
            assert_eq!(written(), [count]);

            away(7);
            repeats.tell();
            assert_eq!(written()[0].rsplit('=').next(), Some("7"));
            repeats.tell();
            let over = "INFO message=no more of these lines line=\"away\" count=104";
            assert_eq!(written(), [over]);
            repeats.tell();
            assert_eq!(written(), [""; 0]);

            away(1);
            assert_eq!(
                written(),
                ["WARN message=away"],
                "it is told as the first one was"
            );
            repeats.tell();
            assert_eq!(written(), [""; 0]);
        });
    }
}
