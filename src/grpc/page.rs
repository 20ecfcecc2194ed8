//! Page tokens: where a list goes on, bound to the query that it goes on with.
//!
//! The order of every list is an id that never changes, so a token is the last id that was seen; a
//! digest of the query beside it catches a token of other filters.

use crate::app::error::Error;
use crate::domain::digest;
use crate::domain::limits;

/// Bytes of the digest: against mistakes, not against forgery, which would gain nothing.
const DIGEST: usize = 8;

/// One query, told apart from all others.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    digest: [u8; DIGEST],
}

impl Query {
    /// The query of `method` with these filters, namespace included.
    pub(crate) fn of(method: &str, filters: &[&str]) -> Self {
        let parts: Vec<&[u8]> = std::iter::once(&method)
            .chain(filters)
            .map(|part| part.as_bytes())
            .collect();
        let mut digest = [0; DIGEST];
        digest.copy_from_slice(&digest::short(&parts)[..DIGEST]);
        Self { digest }
    }

    /// The token of the page after the row with this id.
    pub(crate) fn token(&self, last: &str) -> String {
        let digits = |byte: &u8| [byte >> 4, byte & 15].map(|it| char::from_digit(it.into(), 16));
        let bytes = self.digest.iter().chain(last.as_bytes());
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
            .and_then(|bytes| {
                Some(
                    str::from_utf8(bytes.strip_prefix(&self.digest)?)
                        .ok()?
                        .to_owned(),
                )
            })
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
