//! The native half of `spiece.tokenizers`, the drop-in for the package tokenizers 0.23.3.
//!
//! ```text
//! tokenizer: state (what a tokenizer is between two changes), settings, input -> encoding -> source
//! ```
//!
//! An [`Encoding`](encoding::PyEncoding) is a list of pieces over [sources](source): a source is one text with its ids.
//! Everything else about its tokens (texts, spans, words) is made when a program asks for it, by encoding the text once
//! more; a program that reads ids alone pays for ids alone. A tokenizer holds an immutable [`State`](state::State), which
//! each change replaces, so that calls on other threads, and encodings that were made before, go on with the old one.
//! Copies share what the state is made of: [`shared`].
//!
//! What needs the components of tokenizers as objects is in `spiece/tokenizers`, in Python.

mod columns;
mod encoding;
mod input;
mod saved;
mod settings;
mod shared;
mod source;
mod state;
mod stream;
mod tokenizer;

pub use self::encoding::PyEncoding;
pub use self::stream::PyDecodeStream;
pub use self::tokenizer::TokenizerCore;
