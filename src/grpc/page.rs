//! Page tokens: where a list goes on, bound to the query that it goes on with.
//!
//! The order of every list is an id that never changes, so a token is the last id that was seen; a
//! digest of the query and of that id beside it catches a token of other filters and a damaged one.

use crate::app::error::Error;
use crate::domain::command::KeyHash;
use crate::domain::digest;
use crate::domain::limits;

/// Bytes of the digest: against mistakes, not against forgery, which would gain nothing.
const DIGEST: usize = 8;

/// One query, told apart from all others.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    key: KeyHash,
}

impl Query {
    /// The query of `method` with these filters, namespace included.
    pub(crate) fn of(method: &str, filters: &[&str]) -> Self {
        let parts: Vec<&[u8]> = std::iter::once(&method)
            .chain(filters)
            .map(|part| part.as_bytes())
            .collect();
        let key = digest::short(&parts);
        Self { key }
    }

    /// The token of the page after the row with this id.
    pub(crate) fn token(&self, last: &str) -> String {
        let digits = |byte: &u8| [byte >> 4, byte & 15].map(|it| char::from_digit(it.into(), 16));
        let digest = digest::short(&[&self.key, last.as_bytes()]);
        let bytes = digest[..DIGEST].iter().chain(last.as_bytes());
        bytes.flat_map(digits).flatten().collect()
    }

    /// The id after which the page of `token` begins; none for the first page.
    ///
    /// # Errors
    /// The token is none of this query.
    pub(crate) fn after<I>(
        &self,
        token: &str,
        read: impl FnOnce(&str) -> Option<I>,
    ) -> Result<Option<I>, Error> {
        if token.is_empty() {
            return Ok(None);
        }
        bytes(token)
            .and_then(|bytes| String::from_utf8(bytes.get(DIGEST..)?.to_vec()).ok())
            // As it was given out, letter for letter.
            .filter(|last| self.token(last) == token)
            // Ours hold none, and no text of the database can.
            .filter(|last| !last.contains('\0'))
            .and_then(|last| read(&last))
            .map(Some)
            .ok_or(Error::PageToken)
    }
}

/// The first rows of a page that fit into an answer, at least one, and whether others were cut off.
pub(crate) fn bounded<M: prost::Message>(mut rows: Vec<M>) -> (Vec<M>, bool) {
    let mut size = 0;
    let fits = rows.iter().position(|row| {
        size += row.encoded_len();
        size > limits::PAGE_BYTES
    });
    let cut = fits.map_or(rows.len(), |fits| fits.max(1));
    let is_cut = cut < rows.len();
    rows.truncate(cut);
    (rows, is_cut)
}

fn bytes(token: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = token.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => u8::try_from(digit(*high)? * 16 + digit(*low)?).ok(),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_belongs_to_its_query_alone() {
        let query = Query::of("ListAgents", &["default"]);
        let token = query.token("wörker");
        let read = |query: &Query, token: &str| query.after(token, |last| Some(last.to_owned()));
        assert_eq!(read(&query, &token).unwrap(), Some("wörker".to_owned()));
        assert_eq!(read(&query, "").unwrap(), None);
        for other in [
            Query::of("ListAgents", &["other"]),
            Query::of("ListThreads", &["default"]),
            Query::of("ListAgents", &["default", ""]),
        ] {
            assert!(matches!(read(&other, &token), Err(Error::PageToken)));
        }
        for garbage in ["0", "zz", "ä", &token[2..], &token[..10]] {
            assert!(
                matches!(read(&query, garbage), Err(Error::PageToken)),
                "{garbage}"
            );
        }
    }
}

#[cfg(test)]
mod fuzz {
    use proptest::prelude::*;

    use super::*;
    use crate::fuzz::holds;

    fn read(query: &Query, token: &str) -> Result<Option<String>, Error> {
        query.after(token, |last| Some(last.to_owned()))
    }

    fn is_refused(query: &Query, token: &str) -> bool {
        matches!(read(query, token), Err(Error::PageToken))
    }

    fn last() -> impl Strategy<Value = String> {
        any::<String>().prop_map(|last| last.replace('\0', ""))
    }

    #[test]
    fn a_token_leads_back_and_is_of_its_query_alone() {
        let filters = prop::collection::vec(".{0,8}", 0..3);
        holds((last(), filters.clone(), filters), |(last, one, other)| {
            let query = |filters: &[String]| {
                let filters: Vec<&str> = filters.iter().map(String::as_str).collect();
                Query::of("List", &filters)
            };
            let token = query(&one).token(&last);
            prop_assert_eq!(read(&query(&one), &token).unwrap(), Some(last));
            prop_assert!(one == other || is_refused(&query(&other), &token));
            Ok(())
        });
    }

    #[test]
    fn no_damaged_token_is_taken() {
        let damage = (any::<prop::sample::Index>(), any::<char>(), 0..4);
        holds((last(), damage), |(last, (place, character, kind))| {
            let query = Query::of("List", &["default"]);
            let token = query.token(&last);
            let mut damaged: Vec<char> = token.chars().collect();
            let at = place.index(damaged.len());
            match kind {
                0 => damaged[at] = character,
                1 => damaged.insert(at, character),
                2 => drop(damaged.remove(at)),
                _ => damaged[at] = damaged[at].to_ascii_uppercase(),
            }
            let damaged: String = damaged.into_iter().collect();
            prop_assert!(damaged == token || is_refused(&query, &damaged));
            Ok(())
        });
    }

    #[test]
    fn no_text_of_strangers_is_taken() {
        let text = prop_oneof![any::<String>(), "[0-9a-f]{0,80}"];
        holds(text, |text| {
            let query = Query::of("List", &["default"]);
            prop_assert!(text.is_empty() || is_refused(&query, &text));
            Ok(())
        });
    }
}
