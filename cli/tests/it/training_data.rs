//! `spiece encode --output_format=u16|u32|npy|llmc`, JSON Lines and compressed text, run as a
//! program.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Output;

use spiece::{Model, PieceId, Tokenizer};

use crate::support::{names_in, program, report_of, testdata, testdata_argument};

/// Runs `spiece encode` in `folder` with the golden model of Llama's options.
fn encode(folder: &Path, arguments: &[&str]) -> Output {
    let model = format!("--model={}", testdata_argument("golden/llama2.model"));
    let mut command = program();
    command.current_dir(folder).args(["encode", &model]);
    command.args(arguments).output().unwrap()
}

/// What the program writes to standard error; it must succeed.
fn encode_report(folder: &Path, arguments: &[&str]) -> String {
    report_of(arguments, &encode(folder, arguments))
}

/// The message of a run that has to fail with this exit status.
fn refusal(folder: &Path, status: i32, arguments: &[&str]) -> String {
    let output = encode(folder, arguments);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        output.status.code(),
        Some(status),
        "{arguments:?}: {stderr}"
    );
    stderr
}

fn tokenizer() -> Tokenizer {
    Tokenizer::open(testdata("golden/llama2.model")).unwrap()
}

/// The ids of the documents, each with `before` and `after` it.
fn expected(documents: &[&str], before: &[u32], after: &[u32]) -> Vec<Vec<u32>> {
    let tokenizer = tokenizer();
    let ids = |text: &&str| {
        let ids = tokenizer.encode(text);
        let ids = ids.into_iter().map(PieceId::get);
        let ids = before.iter().copied().chain(ids);
        ids.chain(after.iter().copied()).collect()
    };
    documents.iter().map(ids).collect()
}

fn read_u16(path: &Path) -> Vec<u32> {
    let bytes = fs::read(path).unwrap();
    let words = bytes.chunks_exact(2);
    words
        .map(|word| u32::from(u16::from_le_bytes([word[0], word[1]])))
        .collect()
}

fn read_u32(bytes: &[u8]) -> Vec<u32> {
    let words = bytes.chunks_exact(4);
    words
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect()
}

fn read_u64(path: &Path) -> Vec<usize> {
    let bytes = fs::read(path).unwrap();
    let words = bytes.chunks_exact(8);
    let word = |word: &[u8]| u64::from_le_bytes(word.try_into().unwrap());
    words
        .map(|bytes| usize::try_from(word(bytes)).unwrap())
        .collect()
}

/// The ids of the documents that the offsets beside `path` divide.
fn documents_at(path: &Path) -> Vec<Vec<u32>> {
    let ids = read_u16(path);
    let offsets = read_u64(&path.with_extension("bin.offsets"));
    assert_eq!(
        (offsets.first(), offsets.last()),
        (Some(&0), Some(&ids.len()))
    );
    let documents = offsets.windows(2);
    documents
        .map(|pair| ids[pair[0]..pair[1]].to_vec())
        .collect()
}

#[test]
fn ids_and_offsets_are_those_of_the_documents() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("a"), "Hello world\n\nlast").unwrap();
    fs::write(folder.join("b"), "of b\n").unwrap();
    let lines = ["Hello world", "", "last", "of b"];
    let output = folder.join("t.bin");
    let u16 = ["--output_format=u16", "--output=t.bin", "a", "b"];
    let report = encode_report(folder, &u16);
    assert_eq!(documents_at(&output), expected(&lines, &[], &[]));
    let ids = read_u16(&output).len();
    let message = format!("written: t.bin, t.bin.offsets ({ids} ids, 4 documents)\n");
    assert_eq!(report, message);
    encode_report(
        folder,
        &[&u16[..], &["--extra_options=bos:eos", "--separator=0"]].concat(),
    );
    assert_eq!(documents_at(&output), expected(&lines, &[1], &[2, 0]));
    encode_report(
        folder,
        &[&u16[..], &["--separator=</s>", "--document=file"]].concat(),
    );
    let files = ["Hello world\n\nlast", "of b\n"];
    assert_eq!(documents_at(&output), expected(&files, &[], &[2]));
    assert_eq!(names_in(folder), ["a", "b", "t.bin", "t.bin.offsets"]);

    let u32 = encode(folder, &["--output_format=u32", "a", "b"]);
    assert_eq!(read_u32(&u32.stdout), expected(&lines, &[], &[]).concat());
    assert!(u32.stderr.is_empty());
}

#[test]
fn npy_and_llmc_files_have_headers() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("a"), "Hello world\nlast\n").unwrap();
    let ids = expected(&["Hello world", "last"], &[], &[]).concat();
    let length = ids.len();
    let bytes: Vec<u8> = ids
        .iter()
        .flat_map(|id| id.to_le_bytes()[..2].to_vec())
        .collect();
    encode_report(
        folder,
        &["--output_format=npy", "--output=t.npy", "--index=none", "a"],
    );
    let npy = fs::read(folder.join("t.npy")).unwrap();
    let header = format!("{{'descr': '<u2', 'fortran_order': False, 'shape': ({length},), }}");
    assert!(npy[10..].starts_with(header.as_bytes()));
    assert_eq!(npy[128..], bytes);
    encode_report(folder, &["--output_format=llmc", "--output=t.llmc", "a"]);
    let llmc = fs::read(folder.join("t.llmc")).unwrap();
    assert_eq!(
        read_u32(&llmc[..16]),
        [20_240_520, 1, u32::try_from(length).unwrap(), 0]
    );
    assert_eq!(llmc[1024..], bytes);
    assert_eq!(names_in(folder), ["a", "t.llmc", "t.llmc.offsets", "t.npy"]);
}

#[test]
fn the_index_of_megatron_is_beside_the_ids() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("a"), "Hello world\nlast\n").unwrap();
    encode_report(
        folder,
        &[
            "--output_format=u32",
            "--output=t.bin",
            "--index=megatron",
            "a",
        ],
    );
    let lengths: Vec<usize> = expected(&["Hello world", "last"], &[], &[])
        .iter()
        .map(Vec::len)
        .collect();
    let index = fs::read(folder.join("t.idx")).unwrap();
    assert_eq!(index[..9], *b"MMIDIDX\0\0");
    assert_eq!(index[17], 4, "the ids have 32 bits");
    let stored: Vec<usize> = read_u32(&index[34..42])
        .iter()
        .map(|length| *length as usize)
        .collect();
    assert_eq!(stored, lengths);
    assert_eq!(index.len(), 34 + 2 * 4 + 2 * 8 + 3 * 8);
}

#[test]
fn shards_are_those_of_one_run_and_a_second_run_keeps_them() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let text = testdata_argument("udhr.txt");
    let small = testdata_argument("few_words.txt");
    let inputs = [&*text, &*small];
    let one = [
        "--output_format=u16",
        "--output=one.bin",
        "--extra_options=eos",
    ];
    encode_report(folder, &[&one[..], &inputs].concat());
    let whole = documents_at(&folder.join("one.bin"));
    let sharded = [
        "--output_format=u16",
        "--output=s.bin",
        "--extra_options=eos",
        "--shards=7",
    ];
    let sharded = [&sharded[..], &inputs].concat();
    let report = encode_report(folder, &sharded);
    assert_eq!(report.matches("written: s-0000").count(), 7, "{report}");
    let shard = |number: usize| folder.join(format!("s-{number:05}-of-00007.bin"));
    let all = || {
        (0..7)
            .flat_map(|number| documents_at(&shard(number)))
            .collect::<Vec<_>>()
    };
    assert_eq!(all(), whole);
    let largest = (0..7).map(|number| read_u16(&shard(number)).len()).max();
    assert!(
        largest < Some(whole.concat().len() / 3),
        "the shards are of very different sizes"
    );

    let report = encode_report(folder, &sharded);
    assert_eq!(report.matches("kept: ").count(), 7, "{report}");

    // A missing shard, a damaged one, and one whose index is missing.
    fs::remove_file(shard(0)).unwrap();
    let mut bytes = fs::read(shard(3)).unwrap();
    bytes[10] ^= 1;
    fs::write(shard(3), bytes).unwrap();
    fs::remove_file(shard(6).with_extension("bin.offsets")).unwrap();
    let report = encode_report(folder, &sharded);
    assert_eq!(report.matches("kept: ").count(), 4, "{report}");
    assert_eq!(all(), whole);

    let other_options = encode_report(folder, &[&sharded[..], &["--extra_options=bos"]].concat());
    assert!(other_options.contains("other options"), "{other_options}");
    assert_eq!(other_options.matches("written: ").count(), 7);
    let report = encode_report(folder, &sharded);
    assert_eq!(report.matches("written: ").count(), 7, "{report}");
    assert_eq!(all(), whole);
}

#[test]
fn shards_of_another_model_or_text_are_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let lines = |word: &str| format!("{word} one\n").repeat(400);
    fs::write(folder.join("text"), lines("aaa")).unwrap();
    let run = [
        "--output_format=u16",
        "--output=s.bin",
        "--shards=3",
        "text",
    ];
    encode_report(folder, &run);
    let second = || documents_at(&folder.join("s-00001-of-00003.bin"));
    assert_eq!(
        second()[0],
        tokenizer()
            .encode("aaa one")
            .iter()
            .map(|id| id.get())
            .collect::<Vec<_>>()
    );
    // The same size, another content: only the text can show it.
    let mut text = lines("aaa");
    text.replace_range(text.len() - 8..text.len() - 5, "bbb");
    fs::write(folder.join("text"), text).unwrap();
    let report = encode_report(folder, &run);
    assert!(report.contains("the input has changed"), "{report}");
    assert_eq!(report.matches("written: ").count(), 3, "{report}");
    let last = documents_at(&folder.join("s-00002-of-00003.bin"))
        .pop()
        .unwrap();
    assert_eq!(
        last,
        tokenizer()
            .encode("bbb one")
            .iter()
            .map(|id| id.get())
            .collect::<Vec<_>>()
    );
    fs::write(folder.join("text"), lines("aaaa")).unwrap();
    assert!(encode_report(folder, &run).contains("another input"));
    let other = format!("--model={}", testdata_argument("golden/nfkc.model"));
    let report = encode_report(folder, &[&run[..], &[&*other]].concat());
    assert!(report.contains("another model"), "{report}");
    fs::write(folder.join("s.bin.shards.json"), "{\"finished\": 3}").unwrap();
    let report = encode_report(folder, &run);
    assert_eq!(report.matches("written: ").count(), 3, "{report}");
}

#[test]
fn everything_that_decides_ids_decides_whether_shards_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("text"), "a <s> b\n".repeat(99)).unwrap();
    fs::write(folder.join("pieces"), "\u{2581}a\n").unwrap();
    let run = [
        "--output_format=u16",
        "--output=s.bin",
        "--shards=2",
        "text",
    ];
    let written = |more: &[&str]| {
        let report = encode_report(folder, &[&run[..], more].concat());
        report.matches("written: ").count()
    };
    // Each option is another one than that of the run before.
    assert_eq!(written(&[]), 2);
    assert_eq!(written(&[]), 0);
    for more in [
        "--allowed_special=all",
        "--vocabulary=pieces",
        "--document=file",
        "--index=none",
        "--separator=2",
        "--extra_options=reverse",
    ] {
        assert_eq!(written(&[more]), 2, "{more}");
        assert_eq!(written(&[more]), 0, "{more}");
    }
    assert_eq!(written(&["--vocabulary=pieces"]), 2);
    fs::write(folder.join("pieces"), "\u{2581}b\n").unwrap();
    assert_eq!(written(&["--vocabulary=pieces"]), 2);
    // Nothing of these does.
    assert_eq!(written(&["--vocabulary=pieces", "--num_threads=1"]), 0);
}

#[test]
fn a_manifest_that_was_changed_and_a_compressed_input_of_the_same_size_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let gzip = |text: &str| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
        std::io::Write::write_all(&mut encoder, text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let write = |text: &str| fs::write(folder.join("text.gz"), gzip(text)).unwrap();
    write(&"a b c\n".repeat(100));
    let run = [
        "--output_format=u16",
        "--output=s.bin",
        "--shards=3",
        "text.gz",
    ];
    encode_report(folder, &run);
    let manifest = folder.join("s.bin.shards.json");
    let json = fs::read_to_string(&manifest).unwrap();
    let altered = json.replace("\"text_bytes\": 600", "\"text_bytes\": 60");
    assert_ne!(json, altered);
    fs::write(&manifest, altered).unwrap();
    let report = encode_report(folder, &run);
    assert!(report.contains("s.bin.shards.json is damaged"), "{report}");
    assert_eq!(report.matches("written: ").count(), 3, "{report}");
    assert_eq!(fs::read_to_string(&manifest).unwrap(), json);
    write(&"c b a\n".repeat(100));
    let report = encode_report(folder, &run);
    assert!(report.contains("another input"), "{report}");
    assert_eq!(report.matches("written: ").count(), 3, "{report}");
}

#[test]
fn shards_are_not_written_over_the_input() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for name in [
        "s-00001-of-00002.bin",
        "s.bin.shards.json",
        "s-00000-of-00002.bin.offsets",
    ] {
        fs::write(folder.join(name), "a\nb\n").unwrap();
        let arguments = ["--output_format=u16", "--output=s.bin", "--shards=2", name];
        let error = refusal(folder, 2, &arguments);
        assert!(error.contains("which is the input"), "{error}");
        assert_eq!(fs::read(folder.join(name)).unwrap(), b"a\nb\n");
        fs::remove_file(folder.join(name)).unwrap();
    }
}

#[test]
fn more_shards_than_documents_leave_some_empty() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("text"), "one\ntwo").unwrap();
    for document in ["--document=line", "--document=file"] {
        let run = [
            "--output_format=u16",
            "--output=s.bin",
            "--shards=5",
            "text",
            document,
        ];
        encode_report(folder, &run);
        let shards = (0..5).map(|number| folder.join(format!("s-{number:05}-of-00005.bin")));
        let documents: Vec<Vec<u32>> = shards.flat_map(|shard| documents_at(&shard)).collect();
        let texts: &[&str] = if document.ends_with("line") {
            &["one", "two"]
        } else {
            &["one\ntwo"]
        };
        assert_eq!(documents, expected(texts, &[], &[]));
        assert_eq!(encode_report(folder, &run).matches("kept: ").count(), 5);
    }
}

fn json(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn compressed_files_and_records_give_the_ids_of_their_texts() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let text = fs::read_to_string(testdata("udhr_small.txt")).unwrap();
    fs::write(folder.join("text.gz"), gzip(text.as_bytes())).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let texts: Vec<String> = lines.chunks(3).map(|lines| lines.join("\n")).collect();
    let record = |text: &String| {
        format!(
            "{{\"id\":[1],\"meta\":{{\"text\":{}}}}}
",
            json(text)
        )
    };
    let records: String = texts.iter().map(record).collect();
    fs::write(folder.join("r.jsonl"), &records).unwrap();
    fs::write(folder.join("r.jsonl.gz"), gzip(records.as_bytes())).unwrap();
    let zstd = ruzstd::encoding::compress_to_vec(
        records.as_bytes(),
        ruzstd::encoding::CompressionLevel::Fastest,
    );
    fs::write(folder.join("r.jsonl.zst"), zstd).unwrap();

    let output = folder.join("t.bin");
    let u16 = ["--output_format=u16", "--output=t.bin"];
    encode_report(folder, &[&u16[..], &["text.gz"]].concat());
    assert_eq!(documents_at(&output), expected(&lines, &[], &[]));
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let expected_records = expected(&texts, &[], &[]);
    for name in ["r.jsonl", "r.jsonl.gz", "r.jsonl.zst"] {
        encode_report(
            folder,
            &[&u16[..], &["--json_field=meta.text", name]].concat(),
        );
        assert_eq!(documents_at(&output), expected_records, "{name}");
        encode_report(
            folder,
            &[&u16[..], &["--json_field=meta.text", "--shards=4", name]].concat(),
        );
        let shards = (0..4).map(|number| folder.join(format!("t-{number:05}-of-00004.bin")));
        let documents: Vec<Vec<u32>> = shards.flat_map(|shard| documents_at(&shard)).collect();
        assert_eq!(documents, expected_records, "{name}");
    }
    // Other outputs read the same documents: one line for each record.
    let ids = encode(
        folder,
        &["--output_format=id", "--json_field=meta.text", "r.jsonl"],
    );
    let written: Vec<Vec<u32>> = String::from_utf8(ids.stdout)
        .unwrap()
        .lines()
        .map(|line| line.split(' ').map(|id| id.parse().unwrap()).collect())
        .collect();
    assert_eq!(written, expected_records);
}

#[test]
fn training_on_records_learns_from_their_lines() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let text = fs::read_to_string(testdata("udhr_small.txt")).unwrap();
    fs::write(folder.join("in.txt"), &text).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let record = |lines: &[&str]| {
        format!(
            "{{\"text\":{}}}
",
            json(&lines.join(
                "
"
            ))
        )
    };
    let records: String = lines.chunks(5).map(record).collect();
    fs::write(folder.join("in.jsonl.gz"), gzip(records.as_bytes())).unwrap();
    let train = |input: &str, more: &[&str]| {
        let input = format!("--input={input}");
        let flags = [
            "train",
            &input,
            "--model_prefix=m",
            "--vocab_size=500",
            "--character_coverage=0.98",
        ];
        let mut command = program();
        command
            .current_dir(folder)
            .args(flags)
            .args(["--model_type=bpe", "--quiet"]);
        let output = command.args(more).output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        Model::open(folder.join("m.model")).unwrap()
    };
    for sample in ["--input_sentence_size=0", "--input_sentence_size=150"] {
        let from_text = train("in.txt", &[sample]);
        let from_records = train("in.jsonl.gz", &[sample, "--json_field=text"]);
        assert!(from_text.pieces().eq(from_records.pieces()), "{sample}");
        let inputs: Vec<Vec<u8>> = from_records
            .trainer_spec()
            .input()
            .into_iter()
            .map(<[u8]>::to_vec)
            .collect();
        assert_eq!(inputs, [b"in.jsonl.gz".to_vec()]);
    }
    let tsv = [
        "train",
        "--input=in.jsonl.gz",
        "--model_prefix=m",
        "--json_field=text",
        "--input_format=tsv",
    ];
    let output = program().current_dir(folder).args(tsv).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    fs::write(
        folder.join("bad.jsonl"),
        "{\"text\": \"a\"}\n{\"text\": 1}\n",
    )
    .unwrap();
    let bad = [
        "train",
        "--input=bad.jsonl",
        "--model_prefix=m",
        "--json_field=text",
    ];
    let output = program().current_dir(folder).args(bad).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        message.contains("cannot read bad.jsonl: line 2: the field \"text\" is a number, not a text; correct the record"),
        "{message}"
    );
}

#[test]
fn wrong_flags_and_inputs_are_refused_before_any_file_appears() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("a"), "x\n").unwrap();
    fs::write(
        folder.join("bad.jsonl"),
        "{\"text\": \"a\"}\n{\"body\": \"a\"}\n",
    )
    .unwrap();
    fs::write(folder.join("bad.gz"), &gzip(b"text of a file\n")[..20]).unwrap();
    let u16 = "--output_format=u16";
    let output = "--output=t.bin";
    let cases: &[(i32, &[&str], &str)] = &[
        (2, &["--output_format=npy", "a"], "--output"),
        (2, &[u16, "--index=offsets", "a"], "--index is a file"),
        (2, &[u16, "--shards=2", "a"], "--shards"),
        (2, &[u16, output, "--shards=0", "a"], "from 1 to 99999"),
        (2, &[u16, output, "--shards=2", "-"], "is no file"),
        (2, &[u16, output, "--shards=2"], "is no file"),
        (1, &[u16, output, "--shards=2", "none"], "cannot read none"),
        (
            2,
            &[u16, output, "--index=x", "a"],
            "offsets, megatron or none",
        ),
        (
            2,
            &[u16, "--output=t.ids", "--index=megatron", "a"],
            "NAME.bin",
        ),
        (
            2,
            &["--output_format=npy", output, "--index=megatron", "a"],
            "without a header",
        ),
        (2, &[u16, output, "--separator=4000", "a"], "below 4,000"),
        (2, &[u16, output, "--separator=<none>", "a"], "\"<none>\""),
        (
            2,
            &[u16, output, "--document=page", "a"],
            "line, record or file",
        ),
        (
            2,
            &[u16, output, "--json_field=a..b", "a"],
            "separated by dots",
        ),
        (
            2,
            &[u16, output, "--json_field=b", "--document=file", "a"],
            "exclude",
        ),
        (
            2,
            &[u16, output, "--generate_vocabulary", "a"],
            "--generate_vocabulary",
        ),
        (
            2,
            &["--output_format=id", "--separator=1", "a"],
            "--separator is for training data",
        ),
        (2, &["--output_format=sample_u16", "a"], "piece, id"),
        (
            1,
            &[u16, output, "--json_field=text", "bad.jsonl"],
            "bad.jsonl: line 2: the field \"text\" is missing; correct",
        ),
        (1, &[u16, output, "bad.gz"], "bad.gz"),
        (1, &[u16, "--output=none/t.bin", "a"], "create its folder"),
    ];
    for (status, arguments, expected) in cases {
        let message = refusal(folder, *status, arguments);
        assert!(message.contains(expected), "{arguments:?}: {message}");
        assert_eq!(
            names_in(folder),
            ["a", "bad.gz", "bad.jsonl"],
            "{arguments:?}"
        );
    }
}

#[test]
fn a_model_with_more_pieces_than_two_bytes_count_needs_u32() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut builder = Model::builder();
    for number in 0..=65_536_u32 {
        let text = if number == 0 {
            "<unk>".to_owned()
        } else {
            format!("p{number}")
        };
        let kind = if number == 0 {
            spiece::PieceKind::Unknown
        } else {
            spiece::PieceKind::Normal
        };
        builder.piece(text, 0.0, kind);
    }
    let model = builder.build().unwrap();
    fs::write(folder.join("large.model"), model.to_bytes()).unwrap();
    fs::write(folder.join("a"), "x\n").unwrap();
    let large = "--model=large.model";
    let message = refusal(
        folder,
        2,
        &[large, "--output_format=u16", "--output=t.bin", "none"],
    );
    assert!(
        message.contains("65537 pieces") && message.contains("use u32"),
        "{message}"
    );
    encode_report(
        folder,
        &[large, "--output_format=npy", "--output=t.npy", "a"],
    );
    let npy = fs::read(folder.join("t.npy")).unwrap();
    assert!(npy[10..].starts_with(b"{'descr': '<u4'"));
}

/// A special token of a byte-level vocabulary separates documents; which one begins or ends a text,
/// such a vocabulary does not say.
#[test]
fn byte_level_vocabularies_write_training_data() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("in.txt"), "the right\n<|endoftext|>\n").unwrap();
    let path = testdata("bytes/gpt2.json");
    let model = format!("--model={}", path.display());
    let tokenizer = Tokenizer::open(&path).unwrap();
    let end = tokenizer.piece_to_id("<|endoftext|>").unwrap().get();
    let mut ids = Vec::new();
    for text in ["the right", "<|endoftext|>"] {
        ids.extend(tokenizer.encode(text).into_iter().map(PieceId::get));
        ids.push(end);
    }
    let run = |arguments: &[&str]| {
        let mut command = program();
        command
            .current_dir(folder.path())
            .args(["encode", &model, "--input=in.txt"]);
        command.args(arguments).output().unwrap()
    };
    let arguments = [
        "--output_format=u16",
        "--separator=<|endoftext|>",
        "--output=out.bin",
    ];
    report_of(&arguments, &run(&arguments));
    assert_eq!(read_u16(&folder.path().join("out.bin")), ids);
    let refused = run(&[
        "--output_format=u16",
        "--extra_options=eos",
        "--output=no.bin",
    ]);
    let message = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success());
    assert!(message.contains("leave out the option eos"), "{message}");
}
