use super::*;
use crate::train::execution_config::BATCH_BYTES;

fn lines_of(corpus: Corpus<'_>, line_limit: usize) -> Vec<Vec<u8>> {
    let read_as = ReadAs::Sentences { line_limit };
    let mut batches = Batches::new(corpus, Document::Line, read_as, BATCH_BYTES).unwrap();
    let mut lines = Vec::new();
    while let Some(batch) = batches.read().unwrap() {
        batch
            .for_each(|_, text, _| {
                lines.push(text.to_vec());
                Ok::<(), ()>(())
            })
            .unwrap();
    }
    lines
}

#[test]
fn lines_do_not_depend_on_the_sizes_of_reads() {
    /// Yields one byte a call.
    struct Dribble(Vec<u8>, usize);
    impl Read for Dribble {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let Some(&byte) = self.0.get(self.1) else {
                return Ok(0);
            };
            buffer[0] = byte;
            self.1 += 1;
            Ok(1)
        }
    }
    for text in ["", "a", "a\n", "a\nb", "\n\n", "a\r\n\nb\n"] {
        let mut expected: Vec<Vec<u8>> = text
            .split('\n')
            .map(|line| line.as_bytes().to_vec())
            .collect();
        if text.ends_with('\n') || text.is_empty() {
            expected.pop();
        }
        assert_eq!(
            lines_of(Corpus::reader(text.as_bytes()), 100),
            expected,
            "{text:?}"
        );
        assert_eq!(
            lines_of(Corpus::reader(Dribble(text.into(), 0)), 100),
            expected,
            "{text:?}"
        );
    }
}

#[test]
fn batches_end_at_line_ends() {
    let line = "0123456789".repeat(10_000);
    let text = format!("{line}\n").repeat(50);
    let lines = lines_of(Corpus::reader(text.as_bytes()), usize::MAX);
    assert_eq!(lines.len(), 50);
    assert!(lines.iter().all(|found| found == line.as_bytes()));
}

#[test]
fn lines_above_the_limit_are_not_buffered() {
    let text = [vec![b'x'; 5 * BATCH_BYTES], b"\nnext\n".to_vec()].concat();
    let lines = lines_of(Corpus::reader(&text[..]), 100);
    assert_eq!(lines.len(), 2);
    assert!(lines[0].len() > 100 && lines[0].len() <= 100 + 3 * BATCH_BYTES);
    assert_eq!(lines[1], b"next");
}

#[test]
fn an_empty_file_name_is_refused_with_its_position() {
    let result = Corpus::files(["a.txt", "", "c.txt"]).check_files();
    assert!(matches!(
        result,
        Err(TrainError::EmptyInputName { position: 2 })
    ));
}

#[test]
fn an_empty_file_counts_as_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let open = file("open", "a\nb");
    let ended = file("ended", "c\n");
    let empty = file("empty", "");
    let cases: &[(&[&PathBuf], &[&str])] = &[
        (&[&open, &ended], &["a", "b", "c"]),
        (&[&open, &empty, &ended], &["a", "b", "b", "c"]),
        (&[&open, &empty, &empty, &ended], &["a", "b", "b", "b", "c"]),
        (&[&ended, &empty, &open], &["c", "", "a", "b"]),
        (&[&empty, &open, &empty], &["", "a", "b"]),
        (&[&empty], &[]),
    ];
    for (paths, expected) in cases {
        assert_eq!(
            lines_of(Corpus::files(*paths), 100),
            expected
                .iter()
                .map(|line| line.as_bytes())
                .collect::<Vec<_>>()
        );
    }
}
