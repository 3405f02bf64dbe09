//! The WebAssembly module of the npm package spiece: thin bindings of the library.
//!
//! `package/*.js` add what JavaScript expects: checked numbers, objects for tokens, options as
//! objects. Texts come as UTF-8, which has U+FFFD for a lone surrogate; spans are in UTF-16 units.

mod parts;
mod tokenizer;
#[cfg(feature = "train")]
mod train;
