//! The integration tests of the program, in one binary.
//!
//! | module | what it tests |
//! |---|---|
//! | `train_program` | `spiece train`: flags, messages, exit status, files |
//! | `byte_train_program` | `spiece train --model_type=byte_bpe` |
//! | `like_pipeline_program` | `spiece train --like=tokenizer.json` |
//! | `count_program` | `spiece count`, and training from its tables |
//! | `run_program` | `spiece encode`, `decode`, `normalize`, `export-vocab`, `eval` |
//! | `answers_program` | programs in a pipe answer each line before the next one is written |
//! | `input_program` | records of JSON Lines, and files that are no text, in every subcommand |
//! | `training_data` | `spiece encode --output_format=u16` and its like; JSON Lines and compressed text |
//! | `inspect_program` | `spiece inspect` and `spiece compare` |
//! | `convert_program` | `spiece convert`: GGUF and back, templates |
//! | `adapt_program` | `spiece edit`, `merge`, `prune` |
//! | `extend_program` | `spiece extend` |
//! | `link_program` | links named `spm_train`, `spm_encode` and so on; `spiece install-links` |
//! | `help_program` | help, completions, the manual, and what a run says that lacks a flag |
//! | `documented_commands` | the commands in the documents have verbs and flags of the program |
//! | `determinism` | output depends on the input and the options only |
//! | `support` | paths and the program, for all modules |

mod adapt_program;
mod answers_program;
mod byte_train_program;
mod convert_program;
mod count_program;
mod determinism;
mod documented_commands;
mod extend_program;
mod help_program;
mod input_program;
mod inspect_program;
mod like_pipeline_program;
mod link_program;
mod run_program;
mod support;
mod train_program;
mod training_data;
