//! Hides what looks like a credential. By shape only: it catches what people paste by mistake, and is
//! no safe. Where a shape is also an ordinary word, it has to carry a digit to be taken for a secret.

/// What is shown instead.
const HIDDEN: &str = "[hidden]";

/// How tokens of well-known issuers begin, and how many characters follow at least.
const PREFIXES: &[(&str, usize)] = &[
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
    ("ghp_", 30),
    ("gho_", 30),
    ("ghu_", 30),
    ("ghs_", 30),
    ("ghr_", 30),
    ("github_pat_", 30),
    ("glpat-", 16),
    ("hf_", 30),
    ("npm_", 30),
    ("pypi-", 40),
    ("sk-", 20),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("xoxa-", 10),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
];

/// How the names of secrets end, in assignments. In lower case, with `-` as `_`.
const NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "api_key",
    "apikey",
    "access_key",
    "secret_key",
    "private_key",
    "credential",
];

/// The shortest value of an assignment that is taken for a secret.
const SHORTEST_VALUE: usize = 4;

/// The longest name that is looked at, so that a line of nothing but a name costs nothing.
const LONGEST_NAME: usize = 64;

/// How a private key begins, and whatever else is in PEM.
const PRIVATE_KEY: &str = "-----BEGIN ";

/// The longest scheme of a URL that is looked at.
const LONGEST_SCHEME: usize = 32;

/// A secret in a text: what of the text before it is kept, and where it ends.
struct Secret {
    begin: usize,
    end: usize,
}

/// `text` with whatever looks like a credential hidden.
pub(super) fn hide(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    let mut inside_word = false;
    while let Some(character) = rest.chars().next() {
        let found = if inside_word {
            private_key(rest)
        } else {
            secret(rest)
        };
        if let Some(Secret { begin, end }) = found {
            shown.push_str(&rest[..begin]);
            shown.push_str(HIDDEN);
            rest = &rest[end..];
            inside_word = false;
        } else {
            shown.push(character);
            rest = &rest[character.len_utf8()..];
            inside_word = in_name(character);
        }
    }
    shown
}

fn secret(text: &str) -> Option<Secret> {
    private_key(text)
        .or_else(|| issued(text))
        .or_else(|| web_token(text))
        .or_else(|| after_scheme(text))
        .or_else(|| in_url(text))
        .or_else(|| assigned(text))
}

/// A private key in PEM, also right behind a word: `\n` may be written out. One whose end is missing
/// goes on to the end of the text.
fn private_key(text: &str) -> Option<Secret> {
    let after = text.strip_prefix(PRIVATE_KEY)?;
    let label = after.split_once("-----")?.0;
    if label.contains('\n') || !label.ends_with("PRIVATE KEY") {
        return None;
    }
    let end = format!("-----END {label}-----");
    Some(Secret {
        begin: 0,
        end: text.find(&end).map_or(text.len(), |at| at + end.len()),
    })
}

/// A token of an issuer that marks its tokens.
fn issued(text: &str) -> Option<Secret> {
    let (prefix, least) = PREFIXES.iter().find(|(it, _)| text.starts_with(it))?;
    let tail = run(&text[prefix.len()..], in_name);
    (tail.len() >= *least && has_digit(tail)).then(|| Secret {
        begin: 0,
        end: prefix.len() + tail.len(),
    })
}

/// A JSON Web Token: three parts in base64url, of which the first is a JSON object.
fn web_token(text: &str) -> Option<Secret> {
    if !text.starts_with("eyJ") {
        return None;
    }
    // Part by part: what is none must not cost a look at all that follows.
    let first = run(text, in_name);
    let second = run(text[first.len()..].strip_prefix('.')?, in_name);
    let both = first.len() + 1 + second.len();
    let whole = first.len() > 10 && second.len() > 10 && text[both..].starts_with('.');
    whole.then(|| Secret {
        begin: 0,
        end: run(text, |it| in_name(it) || it == '.').len(),
    })
}

/// What follows `Bearer` or `Basic`.
fn after_scheme(text: &str) -> Option<Secret> {
    let begin = ["bearer ", "basic "].into_iter().find_map(|scheme| {
        let word = text.get(..scheme.len())?;
        word.eq_ignore_ascii_case(scheme).then_some(scheme.len())
    })?;
    let token = run(&text[begin..], |it| in_name(it) || "+/=.~".contains(it));
    (token.len() >= 12 && has_digit(token)).then(|| Secret {
        begin,
        end: begin + token.len(),
    })
}

/// The password of a URL: `scheme://user:password@host`.
fn in_url(text: &str) -> Option<Secret> {
    let scheme = text.bytes().take(LONGEST_SCHEME);
    let scheme = scheme.take_while(|it| it.is_ascii_alphanumeric() || *it == b'+');
    let scheme = scheme.count();
    let authority = text[scheme..].strip_prefix("://")?;
    let authority = run(authority, |it| {
        !it.is_whitespace() && !"/?#\"'".contains(it)
    });
    let at = authority.rfind('@')?;
    let colon = authority[..at].find(':')?;
    let begin = scheme + "://".len() + colon + 1;
    let end = scheme + "://".len() + at;
    (begin < end).then_some(Secret { begin, end })
}

/// The value of `password = ...`, `"api_key": "..."` and the like.
fn assigned(text: &str) -> Option<Secret> {
    let name = run(text, in_name);
    if name.is_empty() || name.len() > LONGEST_NAME {
        return None;
    }
    let plain = name.to_ascii_lowercase().replace('-', "_");
    if !NAMES.iter().any(|it| plain.ends_with(it)) {
        return None;
    }
    let rest = text[name.len()..].trim_start_matches(['"', '\'']);
    let rest = rest.trim_start_matches(' ').strip_prefix(['=', ':'])?;
    let rest = rest.trim_start_matches(' ');
    let quoted = rest.starts_with(['"', '\'']);
    let rest = rest.trim_start_matches(['"', '\'']);
    let value = run(rest, |it| {
        !"\"'\n".contains(it) && (quoted || !(it.is_whitespace() || ",;)}]&".contains(it)))
    });
    // A key in PEM has an end of its own.
    let value = value.split(PRIVATE_KEY).next().unwrap_or_default();
    let scheme = ["bearer", "basic"].contains(&value.to_ascii_lowercase().as_str());
    // A text may come here twice.
    let hidden = [HIDDEN, HIDDEN.trim_end_matches(']')].contains(&value);
    let begin = text.len() - rest.len();
    (value.len() >= SHORTEST_VALUE && !scheme && !hidden).then(|| Secret {
        begin,
        end: begin + value.len(),
    })
}

/// What `text` begins with, as far as it goes.
fn run(text: &str, belongs: impl Fn(char) -> bool) -> &str {
    let end = text.find(|it| !belongs(it)).unwrap_or(text.len());
    &text[..end]
}

fn in_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_' || character == '-'
}

fn has_digit(text: &str) -> bool {
    text.contains(|it: char| it.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written in two pieces, so that no scanner takes this file for a leak.
    fn joined(prefix: &str) -> String {
        format!("{prefix}{}", "1a2B3c4D5e".repeat(4))
    }

    #[test]
    fn tokens_are_known_by_how_they_begin() {
        for prefix in ["AKIA", "ghp_", "sk-", "sk-proj-", "xoxb-", "glpat-", "AIza"] {
            let text = format!("use {}, please", joined(prefix));
            assert_eq!(hide(&text), "use [hidden], please", "{prefix}");
        }
    }

    #[test]
    fn secrets_are_known_by_what_stands_before_them() {
        for (text, shown) in [
            ("password=hunter22", "password=[hidden]"),
            ("DB_PASSWORD = 'two words'", "DB_PASSWORD = '[hidden]'"),
            ("{\"api_key\": \"abcd\"}", "{\"api_key\": \"[hidden]\"}"),
            ("x-api-key: abcd, more", "x-api-key: [hidden], more"),
            ("token: 'abcd\nmore'", "token: '[hidden]\nmore'"),
            ("?access_token=abcd&b=c", "?access_token=[hidden]&b=c"),
            (
                "Authorization: Bearer abc123def456ghi",
                "Authorization: Bearer [hidden]",
            ),
            ("token: bearer abc123def456ghi", "token: bearer [hidden]"),
            (
                "postgres://me:p@ss@host/db and more",
                "postgres://me:[hidden]@host/db and more",
            ),
        ] {
            assert_eq!(hide(text), shown);
        }
    }

    #[test]
    fn tokens_and_keys_of_many_parts_go_as_a_whole() {
        let token = [
            "eyJhbGciOiJIUzI1NiJ9",
            "eyJzdWIiOiIxMjM0NTY3ODkwIn0",
            "c2ln",
        ]
        .join(".");
        assert_eq!(hide(&format!("({token})")), "([hidden])");
        let label = "RSA PRIVATE KEY-----";
        let key = format!("-----BEGIN {label}\nMIIEow\n-----END {label}");
        assert_eq!(hide(&format!("a\n{key}\nb")), "a\n[hidden]\nb");
        assert_eq!(hide(&key[..40]), "[hidden]");
        assert_eq!(hide(&format!("a\\n{key}")), "a\\n[hidden]");
        let quoted = hide(&format!("private_key='{key}'"));
        assert_eq!(quoted, "private_key='[hidden]'");
    }

    #[test]
    fn ordinary_text_stays() {
        for text in [
            "the token was refused, input_tokens: 12000",
            "sk-learn-is-a-name-of-many-words-indeed",
            "basic understanding, bearer of good news",
            "http://host:80/path@x, a@b.example, 12:30",
            "hnd_0190f5a4c2d87b3c9f0e1d2c3b4a5968",
            "task-123-abc, secret santa, Password?",
        ] {
            assert_eq!(hide(text), text);
        }
    }
}
