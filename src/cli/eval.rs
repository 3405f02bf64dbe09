//! `spiece eval`: compression and likelihood of a text under a model; the report of `spm_eval`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::{Encoder, ModelType, PieceId, Tokenizer};
use clap::{ArgMatches, Command};

use super::args;
use super::encode::open_model;
use super::io::CliError;
use super::stream::{Block, Conversion, Stream, with_stream_flags};

pub(crate) fn command() -> Command {
    let command = Command::new("eval").about("Reports compression and likelihood of a text under a model").long_about(
        "Reports compression and likelihood of a text under a model, as spm_eval 0.2.3 does.\n\nExample:\n  \
             spiece eval --model=my.model --input=text.txt",
    );
    with_stream_flags(command)
}

/// What was counted, in the order of the lines.
#[derive(Debug, Default)]
struct Counts {
    sentences: u64,
    bytes: u64,
    tokens: u64,
    /// The sum of the pieces' scores.
    score: f64,
    pieces: BTreeMap<PieceId, u64>,
}

pub(crate) fn run(matches: &ArgMatches) -> Result<(), CliError> {
    let stream = Stream::new(matches)?;
    let tokenizer = open_model(matches)?;
    let model_name = args::given(matches, "model").unwrap_or_default();
    stream.run_blocks(
        &BlockEncoding(&tokenizer),
        Counts::default(),
        |counts, block| counts.add(block, &tokenizer),
        |counts, output| {
            let report = report(&counts, &tokenizer, model_name, &stream.input_name());
            output.write_all(report.as_bytes())
        },
    )
}

impl Counts {
    fn add(&mut self, block: &EncodedBlock, tokenizer: &Tokenizer) {
        self.sentences += block.sentences;
        self.bytes += block.bytes;
        self.tokens += block.ids.len() as u64;
        for id in &block.ids {
            let piece = tokenizer.model().piece(*id);
            self.score += f64::from(piece.map_or(0.0, |piece| piece.score));
            *self.pieces.entry(*id).or_default() += 1;
        }
    }
}

/// What a block of lines adds to the counts.
#[derive(Debug, Default)]
struct EncodedBlock {
    sentences: u64,
    bytes: u64,
    ids: Vec<PieceId>,
}

/// Encodes blocks; empty lines are no sentences.
struct BlockEncoding<'t>(&'t Tokenizer);

impl<'t> Conversion for BlockEncoding<'t> {
    type Worker = Encoder<'t>;
    type Result = EncodedBlock;

    fn worker(&self) -> Result<Encoder<'t>, CliError> {
        Ok(self.0.encoder())
    }

    fn convert(
        &self,
        encoder: &mut Encoder<'t>,
        block: &Block,
        encoded: &mut EncodedBlock,
    ) -> Result<(), CliError> {
        *encoded = EncodedBlock::default();
        for (_, line) in block.lines().filter(|(_, line)| !line.is_empty()) {
            encoded.sentences += 1;
            encoded.bytes += line.len() as u64 + 1;
            encoder.encode_into(line, &mut encoded.ids);
        }
        Ok(())
    }
}

/// The reference's report, line by line.
fn report(counts: &Counts, tokenizer: &Tokenizer, model_name: &str, input_name: &str) -> String {
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let bytes = counts.bytes as f64;
    let tokens = counts.tokens as f64;
    let empirical: f64 = counts
        .pieces
        .values()
        .map(|count| *count as f64)
        .map(|n| n * (n / tokens).ln())
        .sum();
    let is_unigram = tokenizer.model().model_type() == ModelType::Unigram;
    let likelihood = if is_unigram { counts.score } else { empirical };
    let per_byte = share(likelihood, bytes);
    let per_token = share(likelihood, tokens);
    let pieces = tokenizer.model().len();
    let used = counts.pieces.len();
    let coverage = share(used as f64 * 100.0, pieces as f64);
    let mut out = Report::default();
    out.rule('=');
    out.text("RAW LOG-LIKELIHOOD & COMPRESSION REPORT");
    out.rule('=');
    out.row("Model File", model_name);
    out.row("Input File", input_name);
    out.row("Total Sentences", &counts.sentences.to_string());
    out.row("Total Bytes", &counts.bytes.to_string());
    out.row("Total Tokens", &counts.tokens.to_string());
    out.row("Model Vocab Size (K)", &pieces.to_string());
    out.row("Unique Vocab Used", &used.to_string());
    out.row("Vocab Coverage (%)", &format!("{coverage:.2}%"));
    out.rule('-');
    out.text("COMPRESSION DENSITY & RATIO");
    out.number("Compression Density (Bytes/Tok)", share(bytes, tokens));
    // The reference puts one blank less here.
    out.text(&format!(
        "Compression Rate    (Tok/Byte)  : {:.6}",
        share(tokens, bytes)
    ));
    out.row(
        "Token/Byte Ratio",
        &format!("{:.2}%", share(tokens, bytes) * 100.0),
    );
    out.rule('-');
    out.text("INFORMATION THEORY & PPL");
    if is_unigram {
        out.number("Viterbi Log-Likelihood (Nats)", counts.score);
    }
    out.number("Empirical Log-Likelihood (Nats)", empirical);
    out.number("Log-Likelihood / Byte (Nats)", per_byte);
    out.number("Standard Perplexity (PPL)", (-per_token).exp());
    out.number("Byte-Weighted Perplexity (PPL)", (-per_byte).exp());
    out.number(
        "Empirical Byte-W PPL (All Models)",
        (-share(empirical, bytes)).exp(),
    );
    out.rule('=');
    out.lines
}

/// Lines of a report; writing to memory does not fail.
#[derive(Debug, Default)]
struct Report {
    lines: String,
}

impl Report {
    fn rule(&mut self, c: char) {
        self.text(&String::from(c).repeat(55));
    }

    fn text(&mut self, text: &str) {
        let _ = writeln!(self.lines, "{text}");
    }

    fn row(&mut self, name: &str, value: &str) {
        let _ = writeln!(self.lines, "{name:<33}: {value}");
    }

    fn number(&mut self, name: &str, value: f64) {
        // C writes what is no number in lower case.
        self.row(name, &format!("{value:.6}").to_lowercase());
    }
}
