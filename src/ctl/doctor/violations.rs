//! What breaks invariants, for people: one broken rule can be broken by thousands of things, and the
//! first few of them tell what is wrong with all.

use crate::ctl::output::table;
use crate::proto::v1::{CheckInvariantsResponse, InvariantViolation};
use crate::redact;

/// Violations of one invariant that are shown unless all are asked for.
const SHOWN: usize = 10;

/// A table for each invariant that is broken, under its name and how many break it.
pub(super) fn text(check: &CheckInvariantsResponse, all: bool) -> Vec<String> {
    let broken = check.invariants.iter().filter_map(|invariant| {
        let of = |it: &&InvariantViolation| it.invariant == invariant.name;
        let violations: Vec<&InvariantViolation> = check.violations.iter().filter(of).collect();
        (!violations.is_empty()).then(|| group(&invariant.name, &violations, all))
    });
    broken.collect()
}

fn group(invariant: &str, violations: &[&InvariantViolation], all: bool) -> String {
    let count = violations.len();
    let shown = if all { count } else { count.min(SHOWN) };
    let rows = violations[..shown]
        .iter()
        .map(|it| [redact::line(&it.id), redact::line(&it.problem)]);
    let rows = table(["BROKEN BY", "PROBLEM"], rows.collect());
    let mut text = format!(
        "{} is broken {count} time(s)\n{rows}",
        redact::line(invariant)
    );
    if shown < count {
        let more = format!("\nand {} more; `--all` shows them", count - shown);
        text.push_str(&more);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::v1::InvariantCheck;

    #[test]
    fn of_many_violations_the_first_of_each_invariant_are_shown() {
        let names = ["marks_are_in_order", "an_end_is_told", "kept"];
        let mut check = CheckInvariantsResponse::default();
        for name in names {
            check.invariants.push(InvariantCheck {
                name: name.to_owned(),
                ..InvariantCheck::default()
            });
        }
        for at in 0..900 {
            check.violations.push(InvariantViolation {
                invariant: names[at % 2].to_owned(),
                id: format!("thr_{at}_"),
                problem: "no".to_owned(),
            });
        }
        let short = text(&check, false);
        assert_eq!(short.len(), 2, "{short:?}");
        assert!(short[0].starts_with("marks_are_in_order is broken 450 time(s)\n"));
        assert!(short[0].contains("thr_18_") && !short[0].contains("thr_20_"));
        assert!(short[1].ends_with("and 440 more; `--all` shows them"));
        let whole = text(&check, true).concat();
        assert!((0..900).all(|at| whole.contains(&format!("thr_{at}_"))));
        assert!(!whole.contains("more"));
    }
}
