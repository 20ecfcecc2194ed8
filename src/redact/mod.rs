//! Makes text of strangers safe to show: bodies, titles and names are stored as they were sent, and a
//! terminal obeys what it is shown. An agent that read a hostile page must not be able to colour,
//! move, hide or retitle anything on its operator's screen, nor to leave a password on it.
//!
//! Whole escape sequences go, not only their first character, so that nothing of them is left to read.

mod credentials;
#[cfg(test)]
mod fuzz;

use std::iter::Peekable;
use std::str::CharIndices;

const BELL: char = '\u{7}';
const ESCAPE: char = '\u{1b}';
/// Ends a control string; also written as ESC and a backslash.
const STRING_END: char = '\u{9c}';

/// `text` with its lines kept.
#[must_use]
pub fn text(text: &str) -> String {
    credentials::hide(&without_controls(text))
}

/// `text` in one line.
#[must_use]
pub fn line(line: &str) -> String {
    let lines = text(line);
    let mut words = lines.split_whitespace();
    let mut joined = words.next().unwrap_or_default().to_owned();
    for word in words {
        joined.push(' ');
        joined.push_str(word);
    }
    // Once more: a name and its secret may have stood on two lines.
    credentials::hide(&joined)
}

fn without_controls(text: &str) -> String {
    let last_end = text.rfind([BELL, STRING_END, '\\']).unwrap_or_default();
    let mut kept = String::with_capacity(text.len());
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            // The last two are line and paragraph separator.
            '\n' | '\u{2028}' | '\u{2029}' => kept.push('\n'),
            '\t' => kept.push_str("    "),
            ESCAPE => skip_escape(&mut characters, at < last_end),
            '\u{9b}' => skip_parameters(&mut characters),
            it if begins_string(it) && at < last_end => skip_string(&mut characters),
            it if it.is_control() || reorders(it) => {}
            it => kept.push(it),
        }
    }
    kept
}

/// The 8-bit forms of what begins a control string: DCS, SOS, OSC, PM, APC.
fn begins_string(character: char) -> bool {
    matches!(
        character,
        '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}'
    )
}

/// Characters that let text read differently from how it is stored: the direction controls.
fn reorders(character: char) -> bool {
    matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

/// Skips what follows an ESC. A control string that never ends takes nothing with it: it would hide
/// all that comes after.
fn skip_escape(characters: &mut Peekable<CharIndices<'_>>, may_end: bool) {
    match characters.peek().map(|(_, it)| *it) {
        Some('[') => {
            characters.next();
            skip_parameters(characters);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            characters.next();
            if may_end {
                skip_string(characters);
            }
        }
        _ => {
            while characters
                .next_if(|(_, it)| matches!(it, ' '..='/'))
                .is_some()
            {}
            characters.next_if(|(_, it)| matches!(it, '0'..='~'));
        }
    }
}

/// Skips the parameters and the final character of a control sequence.
fn skip_parameters(characters: &mut Peekable<CharIndices<'_>>) {
    while characters
        .next_if(|(_, it)| matches!(it, ' '..='?'))
        .is_some()
    {}
    characters.next_if(|(_, it)| matches!(it, '@'..='~'));
}

/// Skips a control string with its end. One whose end is missing after all goes on to the next line.
fn skip_string(characters: &mut Peekable<CharIndices<'_>>) {
    while let Some((_, character)) = characters.next_if(|(_, it)| *it != '\n') {
        let ends = match character {
            BELL | STRING_END => true,
            ESCAPE => characters.next_if(|(_, it)| *it == '\\').is_some(),
            _ => false,
        };
        if ends {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_go_as_a_whole() {
        for (dirty, clean) in [
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}[2J\u{1b}[1;1Htop", "top"),
            ("\u{9b}31mred", "red"),
            ("\u{1b}]0;a title\u{7}after", "after"),
            ("\u{1b}]8;;http://a\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{9d}0;a title\u{9c}after", "after"),
            ("\u{1b}(Bplain", "plain"),
            ("\u{1b}cplain", "plain"),
            ("a\u{8}\u{8}b\u{0}c\rd", "abcd"),
            ("\u{202e}drow", "drow"),
        ] {
            assert_eq!(text(dirty), clean, "{dirty:?}");
        }
    }

    #[test]
    fn an_unended_string_hides_nothing_but_its_line() {
        assert_eq!(text("\u{1b}]0;seen"), "0;seen");
        assert_eq!(text("\u{1b}]0;unseen\nseen \\"), "\nseen \\");
    }

    #[test]
    fn lines_are_kept_or_joined() {
        assert_eq!(text("a\r\nb\tc"), "a\nb    c");
        assert_eq!(line("  a\r\n\n b\tc "), "a b c");
        assert_eq!(line("password=\nhunter22"), "password= [hidden]");
    }

    #[test]
    fn what_people_write_stays() {
        let written = "Grüße, 你好, \u{1f469}\u{200d}\u{1f680} [31m; \\ ]0;";
        assert_eq!(text(written), written);
    }
}
