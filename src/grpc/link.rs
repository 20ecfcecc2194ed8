//! The link to a child thread: safe to show for any title.

use std::fmt::Write;

/// Characters that mean something to Markdown within the text of a link.
const MARKDOWN: &str = "\\`*_{}[]()<>#+-!|~&";

/// `[Title](thread-handoff://THREAD?agent=AGENT&title=TITLE)`, form-encoded.
pub(crate) fn thread_link(thread_id: &str, agent_id: &str, title: &str) -> String {
    format!(
        "[{}](thread-handoff://{thread_id}?agent={}&title={})",
        markdown(title),
        form(agent_id),
        form(title)
    )
}

/// Text that Markdown shows as it is, in one line.
fn markdown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for char in text.chars() {
        if MARKDOWN.contains(char) {
            shown.push('\\');
        }
        shown.push(if char.is_control() { ' ' } else { char });
    }
    shown
}

/// `application/x-www-form-urlencoded`.
fn form(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' ' => encoded.push('+'),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
                encoded.push(char::from(byte));
            }
            // `*` may stand for itself in a form, and would be a mark in Markdown.
            other => drop(write!(encoded, "%{other:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_title_gives_one_link() {
        assert_eq!(
            thread_link("thr_1", "a b", "Fix [it](x) & *now*"),
            "[Fix \\[it\\]\\(x\\) \\& \\*now\\*](thread-handoff://thr_1?agent=a+b\
             &title=Fix+%5Bit%5D%28x%29+%26+%2Anow%2A)"
        );
        assert_eq!(
            thread_link("thr_1", "ä", "\\"),
            "[\\\\](thread-handoff://thr_1?agent=%C3%A4&title=%5C)"
        );
    }
}
