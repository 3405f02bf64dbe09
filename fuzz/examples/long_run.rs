//! Many mutated models and many random lines, in one run with one seed.
//!
//! ```sh
//! cargo run --release --manifest-path fuzz/Cargo.toml --example long_run -- --models 100000 --lines 1000000 FOLDER
//! ```
//!
//! Models are mutations of the `.model` files of FOLDER (`testdata/run` if none is given), the
//! smaller the more often. Each is loaded; each that loads encodes, decodes and normalizes some
//! texts. The lines go through the models as they are. The run counts what was loaded and refused,
//! measures the memory that loading takes as a multiple of the file's size, and tells the slowest
//! cases by their numbers: the same seed makes the same cases, and `--only N` repeats model number
//! N and writes it to `case_N.model`. A panic ends the run with its number.
//!
//! Why the targets of the fuzzer are not enough: they begin with small models, and the time and the
//! memory that loading takes are told by large ones.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use arbitrary::Unstructured;
use spiece::{Model, Tokenizer};
use spiece_fuzz::targets::checks;
use spiece_fuzz::targets::mutation::mutation;
use spiece_fuzz::targets::seeds::ModelFile;

/// The result of `run`, its time, and the most memory that it had at one time.
fn measure<T>(run: impl FnOnce() -> T) -> (T, Duration, u64) {
    let (mut result, mut time) = (None, Duration::ZERO);
    let allocated = allocation_counter::measure(|| {
        let start = Instant::now();
        result = Some(run());
        time = start.elapsed();
    });
    (result.expect("it was run"), time, allocated.bytes_max)
}

/// Random bytes that a seed and a number determine: SplitMix64.
struct Random(u64);

impl Random {
    fn new(seed: u64, number: u64) -> Random {
        let mut random = Random(seed);
        Random(random.next() ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count.div_ceil(8)).flat_map(|_| self.next().to_le_bytes()).take(count).collect()
    }

    /// A number from 0 to 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// What to do.
struct Job {
    models: u64,
    lines: u64,
    seed: u64,
    only: Option<u64>,
    folder: PathBuf,
}

impl Job {
    fn from_args() -> Result<Job, String> {
        let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/run");
        let mut job = Job { models: 100_000, lines: 1_000_000, seed: 1, only: None, folder: testdata };
        let mut args = std::env::args().skip(1);
        while let Some(arg) = args.next() {
            let mut number = || {
                let value = args.next().ok_or_else(|| format!("{arg} wants a number"))?;
                value.parse::<u64>().map_err(|error| format!("{arg} {value}: {error}"))
            };
            match arg.as_str() {
                "--models" => job.models = number()?,
                "--lines" => job.lines = number()?,
                "--seed" => job.seed = number()?,
                "--only" => job.only = Some(number()?),
                folder if !folder.starts_with('-') => job.folder = PathBuf::from(folder),
                _ => return Err(format!("{arg}: give --models N, --lines N, --seed N, --only N, or a folder")),
            }
        }
        Ok(job)
    }
}

/// A real model.
struct Real {
    name: String,
    size: usize,
    parts: ModelFile,
    tokenizer: Option<Tokenizer>,
}

fn read_models(folder: &Path) -> Result<Vec<Real>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut models = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_none_or(|extension| extension != "model") {
            continue;
        }
        let bytes = std::fs::read(&path).map_err(failed)?;
        let Some(parts) = ModelFile::read(&bytes) else { continue };
        let tokenizer = Model::from_bytes(&bytes).ok().map(Tokenizer::new);
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        models.push(Real { name, size: bytes.len(), parts, tokenizer });
    }
    models.sort_by(|a, b| (a.size, &a.name).cmp(&(b.size, &b.name)));
    if models.is_empty() { Err(format!("{}: no .model files", folder.display())) } else { Ok(models) }
}

/// A model is drawn so often that all take about the same time in all.
fn draw(models: &[Real], random: &mut Random) -> usize {
    let weight = |model: &Real| 1.0 / (20_000.0 + model.size as f64);
    let mut left = random.unit() * models.iter().map(weight).sum::<f64>();
    let found = models.iter().position(|model| {
        left -= weight(model);
        left < 0.0
    });
    found.unwrap_or(0)
}

/// The greatest of some figures, and where it was.
struct Worst<T>(T, String);

impl<T: PartialOrd> Worst<T> {
    fn offer(&mut self, figure: T, place: impl FnOnce() -> String) {
        if figure > self.0 {
            *self = Worst(figure, place());
        }
    }
}

fn worst<T: Default>() -> Worst<T> {
    Worst(T::default(), "none".to_owned())
}

/// What was seen.
struct Seen {
    loaded: u64,
    refused: u64,
    ids: u64,
    load_time: Worst<Duration>,
    /// Time for a megabyte of file.
    load_rate: Worst<f64>,
    load_memory: Worst<u64>,
    /// Memory as a multiple of the file's size: to read the model, and to make a tokenizer of it.
    read_multiple: Worst<f64>,
    load_multiple: Worst<f64>,
    encode_time: Worst<Duration>,
}

/// Multiples are told of files that are larger than what every model takes.
const LARGE: usize = 100_000;

fn run_model(number: u64, job: &Job, models: &[Real], seen: &mut Seen) {
    let mut random = Random::new(job.seed, number);
    let real = &models[draw(models, &mut random)];
    let bytes = random.bytes(400);
    let mut input = Unstructured::new(&bytes);
    let mut parts = real.parts.clone();
    let Ok((file, texts)) = mutation(&mut input, &mut parts) else { return };
    let place = || format!("model {number}, from {}, {} bytes", real.name, file.len());
    if job.only.is_some() {
        let _ = std::fs::write(format!("case_{number}.model"), &file);
        println!("{}", place());
    }
    let (model, time, memory) = measure(|| Model::from_bytes(&file));
    if file.len() >= LARGE {
        seen.read_multiple.offer(memory as f64 / file.len() as f64, place);
    }
    // Makes tables before it knows whether the file is refused.
    let (at_once, time_at_once, _) = measure(|| Tokenizer::from_bytes(&file));
    assert_eq!(at_once.is_ok(), model.is_ok(), "{}", place());
    seen.load_time.offer(time_at_once, place);
    let Ok(model) = model else {
        seen.refused += 1;
        seen.load_time.offer(time, place);
        return;
    };
    seen.loaded += 1;
    let (tokenizer, more_time, more_memory) = measure(|| Tokenizer::new(model));
    let (time, memory) = (time + more_time, memory + more_memory);
    seen.load_time.offer(time, place);
    seen.load_memory.offer(memory, place);
    if file.len() >= LARGE {
        seen.load_rate.offer(time.as_secs_f64() * 1e6 / file.len() as f64, place);
        seen.load_multiple.offer(memory as f64 / file.len() as f64, place);
    }
    for text in &texts {
        let (ids, time, _) = measure(|| tokenizer.encode(text));
        seen.ids += ids.len() as u64;
        seen.encode_time.offer(time, || format!("{}, a text of {} bytes", place(), text.len()));
        tokenizer.decode(&ids).expect("ids of the model");
    }
    // All the promises, where it does not take long.
    if file.len() < LARGE || number.is_multiple_of(20) {
        let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
        checks::exercise(&file, &texts, random.next());
    }
}

/// A line of any bytes, of characters of all lengths, or of words.
fn line(random: &mut Random) -> Vec<u8> {
    let length = 1 + (random.unit().powi(4) * 2000.0) as usize;
    match random.next() % 4 {
        0 => random.bytes(length),
        1 => {
            let mut text = String::new();
            while text.len() < length {
                let bits = 7 + u32::try_from(random.next() % 14).unwrap_or(0);
                text.extend(char::from_u32(u32::try_from(random.next() % (1 << bits)).unwrap_or(0)));
            }
            text.into_bytes()
        }
        2 => {
            let count = 1 + usize::try_from(random.next() % 4).unwrap_or(0);
            let unit = random.bytes(count);
            unit.iter().map(|byte| byte % 0x60 + 0x20).cycle().take(length).collect()
        }
        _ => random.bytes(length).iter().map(|byte| b"etaoin shrdlu cmfw yp.,1"[usize::from(*byte % 24)]).collect(),
    }
}

fn run_line(number: u64, job: &Job, models: &[Real], seen: &mut Seen) {
    let mut random = Random::new(job.seed ^ 0x11, number);
    let text = line(&mut random);
    let choice = draw(models, &mut random);
    let Some(tokenizer) = &models[choice].tokenizer else { return };
    let (ids, time, _) = measure(|| tokenizer.encode(&text));
    seen.ids += ids.len() as u64;
    let place = || format!("line {number} of {} bytes with {}", text.len(), models[choice].name);
    seen.encode_time.offer(time, place);
    tokenizer.decode(&ids).expect("ids of the model");
    if number.is_multiple_of(64) {
        checks::check_text(tokenizer, &text, number);
    }
}

/// Says which case it was if there is a panic.
struct Watch(&'static str, u64);

impl Drop for Watch {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("this was {} {}", self.0, self.1);
        }
    }
}

fn report(job: &Job, seen: &Seen, start: Instant) {
    println!("seed {}, {} mutated models, {} lines, {:.0?}", job.seed, job.models, job.lines, start.elapsed());
    println!("loaded {}, refused {}, panics 0, ids {}", seen.loaded, seen.refused, seen.ids);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if let Some(peak) = status.lines().find_map(|line| line.strip_prefix("VmHWM:")) {
        println!("peak memory of the process, with all real models loaded: {}", peak.trim());
    }
    println!("slowest load: {:.1?}: {}", seen.load_time.0, seen.load_time.1);
    println!("slowest load for its size: {:.2} s/MB: {}", seen.load_rate.0, seen.load_rate.1);
    println!("most memory in a load: {:.1} MB: {}", seen.load_memory.0 as f64 / 1e6, seen.load_memory.1);
    println!("most for its size, Model::from_bytes: {:.1} x: {}", seen.read_multiple.0, seen.read_multiple.1);
    println!("most for its size, and Tokenizer::new: {:.1} x: {}", seen.load_multiple.0, seen.load_multiple.1);
    println!("slowest text: {:.1?}: {}", seen.encode_time.0, seen.encode_time.1);
}

fn main() -> ExitCode {
    let prepared = Job::from_args().and_then(|job| Ok((read_models(&job.folder)?, job)));
    let (models, job) = match prepared {
        Ok(prepared) => prepared,
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::from(2);
        }
    };
    let start = Instant::now();
    let mut seen = Seen {
        loaded: 0,
        refused: 0,
        ids: 0,
        load_time: worst(),
        load_rate: worst(),
        load_memory: worst(),
        read_multiple: worst(),
        load_multiple: worst(),
        encode_time: worst(),
    };
    let numbers = job.only.map_or(0..job.models, |only| only..only + 1);
    for number in numbers {
        let _watch = Watch("model", number);
        run_model(number, &job, &models, &mut seen);
        if number % 10_000 == 9_999 {
            eprintln!("{} models, {:.0?}", number + 1, start.elapsed());
        }
    }
    let lines = if job.only.is_some() { 0 } else { job.lines };
    for number in 0..lines {
        let _watch = Watch("line", number);
        run_line(number, &job, &models, &mut seen);
    }
    report(&job, &seen, start);
    ExitCode::SUCCESS
}
