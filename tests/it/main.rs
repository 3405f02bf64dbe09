//! The integration tests, in one binary: each further binary would be linked on its own, with
//! link-time optimization.
//!
//! | module | what it tests |
//! |---|---|
//! | `train_golden` | training gives the bytes that SentencePiece 0.2.3 wrote (`testdata/golden`) |
//! | `train_library` | training through library calls: callbacks, observers, limits |
//! | `run_golden` | encoding and decoding give what SentencePiece 0.2.3 gives (`testdata/run`) |
//! | `run_library` | encoding and decoding as a library: properties for all texts and ids |
//! | `hostile` | untrusted models, texts, rules and corpora; shared with the fuzz targets |
//! | `allocations` | a warm encoder does not allocate; readers need the documented memory |
//! | `open` | the content of a file decides what tokenizer it is |
//! | `documents` | links, paths and names in the documents lead to what there is |
//! | `modules` | the modules of the library, and the files of each crate, have no cycles |
//! | `support` | paths, for all modules |

mod allocations;
mod documents;
#[cfg(feature = "train")]
mod hostile;
mod modules;
#[cfg(feature = "formats")]
mod open;
mod run_golden;
mod run_library;
mod support;
#[cfg(feature = "train")]
mod train_golden;
#[cfg(feature = "train")]
mod train_library;
