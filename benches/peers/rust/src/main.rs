//! The peers that are Rust crates, on the same work: `peers PEER WORK MODEL [TEXT [SECONDS]]`.
//!
//! The works are `encode`, one line after another, `batch`, all lines by one call, `decode` and
//! `load`, on one thread; a thread pool of rayon has the size that RAYON_NUM_THREADS says.
//! `benches/peers/measure.rs` explains the JSON object that is printed. Each peer is called the way
//! its documentation recommends for speed. For a peer that cannot read SentencePiece models, the
//! model is converted to a format that it reads; a model that cannot be converted is refused with
//! exit status 3. The peers whose names begin with `bytes:` run byte-level vocabularies, which some
//! of them contain: the name of the file says which one.

use std::hint::black_box;

mod backtracking;
mod byte_level;
mod hugging_face;
mod kitoken;
mod pieces;
mod sentencepiece_rust;

#[path = "../../measure.rs"]
mod measure;
use measure::{Digest, Lines, Report};

/// The operations of a peer.
trait Peer: Sized {
    /// Whether it decodes ids.
    const DECODES: bool = true;

    /// Whether it encodes several lines by one call.
    const BATCHES: bool = false;

    /// Reads a model.
    fn load(model: &str) -> Result<Self, Refused>;

    /// Writes the ids of a line to `ids`, which is empty.
    fn encode(&mut self, line: &str, ids: &mut Vec<u32>);

    /// The ids of all lines, by one call. Only called if it `BATCHES`.
    fn encode_batch(&mut self, _: &[&str]) -> Batch {
        Batch::Lines(Vec::new())
    }

    /// The text of `ids`.
    fn decode(&self, ids: &[u32]) -> Vec<u8>;
}

/// The ids of several lines, in the form in which a peer returns them.
enum Batch {
    Lines(Vec<Vec<u32>>),
    Flat { ids: Vec<u32>, lengths: Vec<usize> },
}

impl Batch {
    /// Adds the ids of each line to a digest.
    fn add_to(&self, sum: &mut Digest) {
        match self {
            Batch::Lines(lines) => lines.iter().for_each(|line| sum.ids(line.iter().copied())),
            Batch::Flat { ids, lengths } => {
                let mut ids = ids.iter().copied();
                lengths.iter().for_each(|length| sum.ids(ids.by_ref().take(*length)));
            }
        }
    }
}

/// Why a peer cannot use a model.
struct Refused(String);

fn refused<T>(problem: &str) -> Result<T, Refused> {
    Err(Refused(problem.to_owned()))
}

impl<E: std::error::Error> From<E> for Refused {
    fn from(error: E) -> Refused {
        Refused(error.to_string())
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [peer, job @ ..] = &arguments[..] else {
        panic!("usage: peers PEER encode|batch|decode|load MODEL [TEXT [SECONDS]]");
    };
    let done = match peer.as_str() {
        "kitoken" => run::<kitoken::Kitoken>(peer, job),
        "bpe" => run::<backtracking::Backtracking>(peer, job),
        "tokenizers" => run::<hugging_face::HuggingFace>(peer, job),
        "sentencepiece-rust" => run::<sentencepiece_rust::SentencePieceRust>(peer, job),
        "bytes:bpe-openai" => run::<byte_level::BpeOpenai>(peer, job),
        "bytes:snaptokens" => run::<byte_level::Snaptokens>(peer, job),
        "bytes:splintr" => run::<byte_level::Splintr>(peer, job),
        "bytes:tiktoken" => run::<byte_level::Tiktoken>(peer, job),
        "bytes:toktok" => run::<byte_level::Toktok>(peer, job),
        "bytes:tokenizers" => run::<byte_level::HuggingFaceJson>(peer, job),
        _ => panic!("there is no peer {peer}"),
    };
    if let Err(Refused(problem)) = done {
        eprintln!("{peer}: {problem}");
        std::process::exit(3);
    }
}

fn run<P: Peer>(name: &str, job: &[String]) -> Result<(), Refused> {
    let [work, model, rest @ ..] = job else { panic!("a work and a model are needed") };
    let text = rest.first().map_or(Ok(String::new()), std::fs::read_to_string)?;
    let seconds: f64 = rest.get(1).map_or(Ok(1.0), |seconds| seconds.parse())?;
    let lines = Lines::new(&text);
    let report = Report::new(name, seconds, &lines);
    P::load(model)?;
    let load = || P::load(model).ok().expect("the model was read before");
    match work.as_str() {
        "encode" => report.measure(
            || {
                let mut peer = load();
                encode(&mut peer, lines.seen(), None);
                peer
            },
            |peer, sum| encode(peer, lines.unseen(), sum),
        ),
        "batch" if !P::BATCHES => return refused("has no call for a batch"),
        "batch" => report.measure(
            || {
                let mut peer = load();
                black_box(peer.encode_batch(lines.seen()));
                peer
            },
            |peer, sum| {
                let batch = peer.encode_batch(lines.unseen());
                if let Some(sum) = sum {
                    batch.add_to(sum);
                }
                batch
            },
        ),
        "decode" if !P::DECODES => return refused("does not decode such ids"),
        "decode" => report.measure(
            || {
                let mut peer = load();
                (ids(&mut peer, lines.unseen()), peer)
            },
            |(ids, peer), sum| decode(peer, ids, sum),
        ),
        "load" => report.measure(
            || (),
            |(), sum| {
                let mut peer = load();
                if sum.is_some() {
                    encode(&mut peer, &[measure::GREETING], sum);
                }
                peer
            },
        ),
        _ => panic!("there is no work {work}"),
    }
    Ok(())
}

fn encode<P: Peer>(peer: &mut P, lines: &[&str], mut sum: Option<&mut Digest>) {
    let mut ids = Vec::new();
    for line in lines {
        ids.clear();
        peer.encode(line, &mut ids);
        black_box(&ids);
        if let Some(sum) = &mut sum {
            sum.ids(ids.iter().copied());
        }
    }
}

fn ids<P: Peer>(peer: &mut P, lines: &[&str]) -> Vec<Vec<u32>> {
    let encode = |line: &&str| {
        let mut ids = Vec::new();
        peer.encode(line, &mut ids);
        ids
    };
    lines.iter().map(encode).collect()
}

fn decode<P: Peer>(peer: &P, ids: &[Vec<u32>], mut sum: Option<&mut Digest>) {
    for ids in ids {
        let text = black_box(peer.decode(ids));
        if let Some(sum) = &mut sum {
            sum.text(text);
        }
    }
}
