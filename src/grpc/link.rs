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

/// Text that Markdown shows as it is, in one line and in the order in which it is stored.
fn markdown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            // The last two are line and paragraph separator.
            it if it.is_control() || matches!(it, '\u{2028}' | '\u{2029}') => shown.push(' '),
            it if reorders(it) => {}
            it if MARKDOWN.contains(it) => shown.extend(['\\', it]),
            it => shown.push(it),
        }
    }
    shown
}

/// Direction controls, with which a title could pass for the address behind it.
fn reorders(char: char) -> bool {
    matches!(
        char,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
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

#[cfg(test)]
mod fuzz {
    use proptest::prelude::*;

    use super::*;
    use crate::fuzz::holds;

    /// Takes a link apart as Markdown does: the text up to the first bracket that is not escaped, and
    /// the address up to the first parenthesis.
    fn parts(link: &str) -> Option<(String, &str)> {
        let mut shown = String::new();
        let mut rest = link.strip_prefix('[')?.chars();
        loop {
            match rest.next()? {
                '\\' => shown.push(rest.next()?),
                ']' => break,
                it if MARKDOWN.contains(it) => return None,
                it => shown.push(it),
            }
        }
        let address = rest.as_str().strip_prefix('(')?.strip_suffix(')')?;
        Some((shown, address))
    }

    fn decoded(text: &str) -> Option<String> {
        let mut bytes = Vec::new();
        let mut rest = text.bytes();
        while let Some(byte) = rest.next() {
            bytes.push(match byte {
                b'+' => b' ',
                b'%' => {
                    let digits = [rest.next()?, rest.next()?];
                    u8::from_str_radix(str::from_utf8(&digits).ok()?, 16).ok()?
                }
                it => it,
            });
        }
        String::from_utf8(bytes).ok()
    }

    #[test]
    fn any_title_and_agent_give_one_link_that_says_them() {
        let text = || {
            prop_oneof![
                any::<String>(),
                "[\\]\\[()<>`*_!&%+= a\\\\\n\u{202e}\u{2028}]{0,20}"
            ]
        };
        holds((text(), text()), |(agent, title)| {
            let link = thread_link("thr_1", &agent, &title);
            let (shown, address) = parts(&link).unwrap();
            prop_assert!(!shown.contains(|it: char| it.is_control() || reorders(it)));
            let kept = title.chars().filter(|it| !reorders(*it)).count();
            prop_assert_eq!(shown.chars().count(), kept);
            prop_assert!(
                address
                    .bytes()
                    .all(|it| it.is_ascii_alphanumeric() || b"-._+%:/?=&".contains(&it))
            );
            let fields = address
                .strip_prefix("thread-handoff://thr_1?agent=")
                .unwrap();
            let (of, called) = fields.split_once("&title=").unwrap();
            prop_assert_eq!(decoded(of), Some(agent));
            prop_assert_eq!(decoded(called), Some(title));
            Ok(())
        });
    }
}
