//! The messages of `.model` files as types of [prost](https://docs.rs/prost), generated from
//! `proto/sentencepiece_model.proto` (feature `proto`).
//!
//! For callers that process model files with their own protobuf code. The library itself does not
//! use these types: [`Model`](crate::Model) reads and writes files with its own code, which also
//! keeps unknown fields. The schema is the union of all releases; strings are bytes, because
//! nothing guarantees that they are UTF-8.
//!
//! ```
//! use prost::Message;
//! use spiece::model::proto::ModelProto;
//!
//! let model = spiece::Model::open("testdata/golden/llama2.model")?;
//! let message = ModelProto::decode(&model.to_bytes()[..])?;
//! assert_eq!(message.pieces.len(), model.len());
//! assert_eq!(message.encode_to_vec(), model.to_bytes());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![allow(missing_docs, clippy::pedantic)]

include!(concat!(env!("OUT_DIR"), "/sentencepiece.rs"));
