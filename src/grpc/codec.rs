//! Messages as bytes: prost's codec, but for what it says of bytes that are no message.
//!
//! Invalid UTF-8, nesting beyond prost's own limit and damage are the caller's mistakes; prost's
//! codec would tell them as ours, and in words that only its users know.

use std::fmt;
use std::marker::PhantomData;

use prost::bytes::Buf;
use prost::{Message, Name};
use tonic::Status;
use tonic::codec::{DecodeBuf, Decoder};
use tonic_prost::{ProstCodec, ProstEncoder};

use crate::app::error::Error;
use crate::domain::refusal::Violation;

use super::nesting::too_deep;

/// See the module. The generated code names it.
pub struct Codec<T, U> {
    messages: PhantomData<(T, U)>,
}

/// Reads messages.
pub struct Reader<U> {
    message: PhantomData<U>,
}

impl<T, U> Default for Codec<T, U> {
    fn default() -> Self {
        Self {
            messages: PhantomData,
        }
    }
}

impl<T, U> fmt::Debug for Codec<T, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Codec")
    }
}

impl<U> fmt::Debug for Reader<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reader")
    }
}

impl<T, U> tonic::codec::Codec for Codec<T, U>
where
    T: Message + Send + 'static,
    U: Message + Name + Default + Send + 'static,
{
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = Reader<U>;

    fn encoder(&mut self) -> Self::Encoder {
        ProstCodec::<T, U>::default().encoder()
    }

    fn decoder(&mut self) -> Self::Decoder {
        Reader {
            message: PhantomData,
        }
    }
}

impl<U: Message + Name + Default> Decoder for Reader<U> {
    type Item = U;
    type Error = Status;

    fn decode(&mut self, bytes: &mut DecodeBuf<'_>) -> Result<Option<U>, Status> {
        let bytes = bytes.copy_to_bytes(bytes.remaining());
        U::decode(bytes.clone()).map(Some).map_err(|error| {
            let (field, wrong) = too_deep::<U>(&bytes).unwrap_or_else(|| {
                // prost names message and field in Rust's spelling, which is near enough to help.
                ("message".to_owned(), format!("cannot be read: {error}"))
            });
            Status::from(Error::Invalid(vec![Violation::new(field, wrong)]))
        })
    }
}
