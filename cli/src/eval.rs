//! `spiece eval`: compression and likelihood of a text under a model; the report of `spm_eval`.
//!
//! The report has 24 lines, 25 for a unigram model. All threads encode blocks of lines. The counts
//! are added in the order of the lines, so the sums of floating-point scores do not depend on the
//! number of threads.
//!
//! ```text
//! $ echo 'Hello, world!' | spiece eval --model=testdata/golden/llama2.model
//! =======================================================
//! RAW LOG-LIKELIHOOD & COMPRESSION REPORT
//! =======================================================
//! Model File                       : testdata/golden/llama2.model
//! Input File                       : -
//! Total Sentences                  : 1
//! Total Bytes                      : 14
//! Total Tokens                     : 10
//! Model Vocab Size (K)             : 4000
//! Unique Vocab Used                : 9
//! Vocab Coverage (%)               : 0.23%
//! -------------------------------------------------------
//! COMPRESSION DENSITY & RATIO
//! Compression Density (Bytes/Tok)  : 1.400000
//! Compression Rate    (Tok/Byte)  : 0.714286
//! Token/Byte Ratio                 : 71.43%
//! -------------------------------------------------------
//! INFORMATION THEORY & PPL
//! Empirical Log-Likelihood (Nats)  : -21.639557
//! Log-Likelihood / Byte (Nats)     : -1.545683
//! Standard Perplexity (PPL)        : 8.705506
//! Byte-Weighted Perplexity (PPL)   : 4.691173
//! Empirical Byte-W PPL (All Models): 4.691173
//! =======================================================
//! ```
//!
//! The empirical log-likelihood is the sum of `n * ln(n / total)` over the pieces that occur, where
//! `n` is the count of a piece: here 8 pieces once and 1 piece twice,
//! `8 * ln(1 / 10) + 2 * ln(2 / 10) = -21.64`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use clap::{ArgMatches, Command};
use spiece::{Encoder, ModelType, PieceId, Tokenizer};

use super::args;
use super::documents::document_flags;
use super::io::CliResult;
use super::stream::{Block, Stream, output_error, with_stream_flags};

/// The command line: the flags of all subcommands that read lines.
pub(crate) fn command() -> Command {
    let command = Command::new("eval")
        .about(ABOUT)
        .long_about(LONG_ABOUT)
        .args(document_flags());
    with_stream_flags(command)
}

const ABOUT: &str = "Reports compression and likelihood of a text under a model";

const LONG_ABOUT: &str = "Reports compression and likelihood of a text under a model, as spm_eval 0.2.3 does.\n\nExample:\n  \
                          spiece eval --model=my.model --input=text.txt";

/// The counts, added in the order of the lines.
#[derive(Debug, Default)]
struct Counts {
    /// Lines that are not empty.
    sentences: u64,
    /// Bytes of these lines, with one line feed each.
    bytes: u64,
    /// Ids of the encoded lines.
    tokens: u64,
    /// The sum of the pieces' scores.
    score: f64,
    /// The count of each piece that occurs. Ordered by id, so that sums over it are always computed
    /// in the same order.
    pieces: BTreeMap<PieceId, u64>,
}

/// Encodes the input and writes the report.
pub(crate) fn run(matches: &ArgMatches) -> CliResult {
    let stream = Stream::new(matches)?;
    let tokenizer = args::tokenizer(matches)?;
    let model_name = args::given(matches, "model").unwrap_or_default();
    stream.with_output(|output| {
        let mut counts = Counts::default();
        let mut take = |block: &mut EncodedBlock| {
            counts.add(block, &tokenizer);
            Ok(())
        };
        let make = || Ok(tokenizer.encoder());
        let input = stream.open_input();
        stream
            .lines
            .map(&input, &make, &EncodedBlock::fill, &mut take)?;
        let evaluation = Evaluation {
            counts: &counts,
            tokenizer: &tokenizer,
            model_name,
            input_name: &stream.input_name(),
        };
        let report = evaluation.report();
        output.write_all(report.as_bytes()).map_err(output_error)
    })
}

impl Counts {
    /// Adds the counts of one block.
    fn add(&mut self, block: &EncodedBlock, tokenizer: &Tokenizer) {
        self.sentences += block.sentences;
        self.bytes += block.bytes;
        self.tokens += block.ids.len() as u64;
        for id in &block.ids {
            let piece = tokenizer.piece(*id);
            self.score += f64::from(piece.map_or(0.0, |piece| piece.score));
            *self.pieces.entry(*id).or_default() += 1;
        }
    }
}

/// The counts and ids of a block of lines.
#[derive(Debug, Default)]
struct EncodedBlock {
    /// Lines that are not empty.
    sentences: u64,
    /// Bytes of these lines, with one line feed each.
    bytes: u64,
    /// The ids of all lines, without separators.
    ids: Vec<PieceId>,
}

impl EncodedBlock {
    /// Encodes a block. Empty lines are not counted as sentences, as in the reference.
    fn fill(encoder: &mut Encoder<'_>, block: &Block, encoded: &mut Self) -> CliResult {
        *encoded = Self::default();
        block.for_each_document(|_, line| {
            if !line.is_empty() {
                encoded.sentences += 1;
                encoded.bytes += line.len() as u64 + 1;
                encoder.encode_into(line, &mut encoded.ids);
            }
            Ok(())
        })
    }
}

/// The data that the report is computed from.
struct Evaluation<'e> {
    /// The counts of all lines.
    counts: &'e Counts,
    /// The tokenizer that encoded the lines.
    tokenizer: &'e Tokenizer,
    /// The model file as the command line names it.
    model_name: &'e str,
    /// The input files as the command line names them.
    input_name: &'e str,
}

impl Evaluation<'_> {
    /// The reference's report, line by line.
    fn report(&self) -> String {
        let mut out = Report::default();
        self.write_totals(&mut out);
        self.write_compression(&mut out);
        self.write_likelihood(&mut out);
        out.lines
    }

    /// The first section: names and counts.
    fn write_totals(&self, out: &mut Report) {
        let pieces = self.tokenizer.vocab_size();
        let used = self.counts.pieces.len();
        let coverage = ratio(used as f64 * 100.0, pieces as f64);
        out.rule('=');
        out.text("RAW LOG-LIKELIHOOD & COMPRESSION REPORT");
        out.rule('=');
        out.row("Model File", self.model_name);
        out.row("Input File", self.input_name);
        out.row("Total Sentences", &self.counts.sentences.to_string());
        out.row("Total Bytes", &self.counts.bytes.to_string());
        out.row("Total Tokens", &self.counts.tokens.to_string());
        out.row("Model Vocab Size (K)", &pieces.to_string());
        out.row("Unique Vocab Used", &used.to_string());
        out.row("Vocab Coverage (%)", &format!("{coverage:.2}%"));
    }

    /// The second section: bytes per token and tokens per byte.
    fn write_compression(&self, out: &mut Report) {
        let bytes_per_token = ratio(self.bytes(), self.tokens());
        let tokens_per_byte = ratio(self.tokens(), self.bytes());
        let percent = tokens_per_byte * 100.0;
        out.rule('-');
        out.text("COMPRESSION DENSITY & RATIO");
        out.number("Compression Density (Bytes/Tok)", bytes_per_token);
        // The reference writes one space less here, so this line is not a row.
        out.text(&format!(
            "Compression Rate    (Tok/Byte)  : {tokens_per_byte:.6}"
        ));
        out.row("Token/Byte Ratio", &format!("{percent:.2}%"));
    }

    /// The third section: log-likelihoods and perplexities.
    fn write_likelihood(&self, out: &mut Report) {
        let empirical = self.empirical_likelihood();
        let likelihood = if self.is_unigram() {
            self.counts.score
        } else {
            empirical
        };
        let per_byte = ratio(likelihood, self.bytes());
        let per_token = ratio(likelihood, self.tokens());
        let empirical_per_byte = ratio(empirical, self.bytes());
        out.rule('-');
        out.text("INFORMATION THEORY & PPL");
        if self.is_unigram() {
            out.number("Viterbi Log-Likelihood (Nats)", self.counts.score);
        }
        out.number("Empirical Log-Likelihood (Nats)", empirical);
        out.number("Log-Likelihood / Byte (Nats)", per_byte);
        out.number("Standard Perplexity (PPL)", (-per_token).exp());
        out.number("Byte-Weighted Perplexity (PPL)", (-per_byte).exp());
        out.number(
            "Empirical Byte-W PPL (All Models)",
            (-empirical_per_byte).exp(),
        );
        out.rule('=');
    }

    /// The log-likelihood of the pieces under their own frequencies, in nats. The terms are added
    /// in the order of the ids: another order could change the last digits.
    fn empirical_likelihood(&self) -> f64 {
        let counts = self.counts.pieces.values();
        let term = |n: f64| n * (n / self.tokens()).ln();
        counts.map(|count| term(*count as f64)).sum()
    }

    /// Whether the model is a unigram model. Only then are the scores log probabilities; the scores
    /// of a BPE model only order its merges.
    fn is_unigram(&self) -> bool {
        self.tokenizer.model_type_name() == ModelType::Unigram.name()
    }

    /// The number of bytes, for ratios.
    fn bytes(&self) -> f64 {
        self.counts.bytes as f64
    }

    /// The number of tokens, for ratios.
    fn tokens(&self) -> f64 {
        self.counts.tokens as f64
    }
}

/// `part / whole`, or 0 for an empty text, as in the reference.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// The lines of a report. Writing to memory does not fail, so no method returns an error.
#[derive(Debug, Default)]
struct Report {
    /// The text so far; each line ends with a line feed.
    lines: String,
}

impl Report {
    /// Adds a line of 55 times `c`.
    fn rule(&mut self, c: char) {
        self.text(&String::from(c).repeat(55));
    }

    /// Adds a line.
    fn text(&mut self, text: &str) {
        let _ = writeln!(self.lines, "{text}");
    }

    /// Adds a line with a name, padded to 33 characters, and its value.
    fn row(&mut self, name: &str, value: &str) {
        let _ = writeln!(self.lines, "{name:<33}: {value}");
    }

    /// Adds a row with 6 digits after the decimal point.
    fn number(&mut self, name: &str, value: f64) {
        // The reference writes `nan` and `inf` in lower case, as `printf` does; Rust writes `NaN`.
        self.row(name, &format!("{value:.6}").to_lowercase());
    }
}
