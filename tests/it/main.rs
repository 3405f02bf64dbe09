//! The integration tests, in one binary: each further binary would be linked on its own, with
//! link-time optimization.
//!
//! | module | what it tests |
//! |---|---|
//! | `train_golden` | training gives the bytes that SentencePiece 0.2.3 wrote (`testdata/golden`) |
//! | `train_library` | training through library calls: callbacks, observers, limits |
//! | `train_program` | `spiece train`: flags, messages, exit status, files |
//! | `run_golden` | encoding and decoding give what SentencePiece 0.2.3 gives (`testdata/run`) |
//! | `run_library` | encoding and decoding as a library: properties for all texts and ids |
//! | `run_program` | `spiece encode`, `decode`, `normalize`, `export-vocab`, `eval` |
//! | `inspect_program` | `spiece inspect` and `spiece compare` |
//! | `link_program` | links named `spm_train`, `spm_encode` and so on; `spiece install-links` |
//! | `adapt_program` | `spiece edit`, `merge`, `prune` |
//! | `extend_program` | `spiece extend` |
//! | `count_program` | `spiece count`, and training from its tables |
//! | `determinism` | output depends on the input and the options only |
//! | `hostile` | untrusted models, texts, rules and corpora; shared with the fuzz targets |
//! | `allocations` | a warm encoder does not allocate; readers need the documented memory |
//! | `training_data` | `spiece encode --output_format=u16` and its like; JSON Lines and compressed text |
//! | `convert_program` | `spiece convert`: GGUF and back, templates |
//! | `support` | paths and the program, for all modules |

#[cfg(feature = "cli")]
mod adapt_program;
mod allocations;
#[cfg(feature = "cli")]
mod convert_program;
#[cfg(feature = "cli")]
mod count_program;
#[cfg(feature = "cli")]
mod determinism;
#[cfg(feature = "cli")]
mod extend_program;
#[cfg(feature = "train")]
mod hostile;
#[cfg(feature = "cli")]
mod inspect_program;
#[cfg(feature = "cli")]
mod link_program;
mod run_golden;
mod run_library;
#[cfg(feature = "cli")]
mod run_program;
mod support;
#[cfg(feature = "train")]
mod train_golden;
#[cfg(feature = "train")]
mod train_library;
#[cfg(feature = "cli")]
mod train_program;
#[cfg(feature = "cli")]
mod training_data;
