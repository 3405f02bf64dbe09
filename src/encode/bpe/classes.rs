//! Character classes, and which classes are adjacent in some piece.
//!
//! | module | job |
//! |---|---|
//! | [`char_table`] | character -> class, symbol, hash |
//! | [`class_bigrams`] | whether two classes are adjacent in some piece |
//! | [`ascii`] | the same for ASCII bytes, eight at a time |
//!
//! Together they give the positions at which text may be split into chunks (see
//! [`bigrams`](crate::encode::bigrams)), and the symbols of its characters.

pub(super) mod ascii;
pub(super) mod char_table;
pub(super) mod class_bigrams;
