//! Text in gzip (RFC 1952) and Zstandard (RFC 8878), decompressed while it is read.
//!
//! Both formats allow several compressed streams in one file (`cat a.gz b.gz > c.gz`, `pzstd`), all
//! of which are read. For example, the concatenation of the compressed files of "one\n" and "two\n"
//! is the corpus "one\ntwo\n". A truncated stream and a wrong checksum are errors, so that a
//! damaged file is never silently a shorter corpus. In memory is the window: at most 128 MiB for
//! Zstandard, 32 KiB for gzip.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, Read};
use std::path::Path;

/// How bytes are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    /// The compression of content that begins with these bytes.
    pub(crate) fn of(head: &[u8]) -> Self {
        match head {
            [0x1f, 0x8b, 8, ..] => Self::Gzip,
            // A frame, or one that decoders skip.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            _ => Self::None,
        }
    }

    /// The compression that the name of a file promises.
    pub(crate) fn of_name(path: &Path) -> Self {
        match path.extension().and_then(OsStr::to_str) {
            Some("gz") => Self::Gzip,
            Some("zst") => Self::Zstd,
            _ => Self::None,
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "uncompressed",
            Self::Gzip => "gzip",
            Self::Zstd => "Zstandard",
        })
    }
}

/// A reader of the decompressed content of `reader`.
///
/// # Errors
/// The content is compressed, and this build has no decompressor.
pub(crate) fn decompressor(
    reader: Box<dyn Read + Send>,
    compression: Compression,
) -> io::Result<Box<dyn Read + Send>> {
    match compression {
        Compression::None => Ok(reader),
        #[cfg(feature = "compressed")]
        Compression::Gzip => Ok(Box::new(flate2::bufread::MultiGzDecoder::new(
            io::BufReader::with_capacity(1 << 16, reader),
        ))),
        #[cfg(feature = "compressed")]
        Compression::Zstd => Ok(Box::new(zstd::Frames::new(io::BufReader::with_capacity(
            1 << 16,
            reader,
        )))),
        #[cfg(not(feature = "compressed"))]
        _ => Err(super::InputError {
            problem: format!("the content is compressed ({compression})").into(),
            remedy: "decompress it, or build spiece with the feature `compressed`".into(),
        }
        .into()),
    }
}

#[cfg(feature = "compressed")]
mod zstd {
    use std::io::{self, BufRead, Read};

    use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
    use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

    /// All frames of a .zst file.
    pub(super) struct Frames<R> {
        source: R,
        decoder: FrameDecoder,
        begun: bool,
    }

    impl<R: BufRead> Frames<R> {
        pub(super) fn new(source: R) -> Self {
            Self {
                source,
                decoder: FrameDecoder::new(),
                begun: false,
            }
        }

        /// Begins the next frame; false if there is none.
        fn next_frame(&mut self) -> io::Result<bool> {
            if self.begun {
                self.check_frame()?;
            }
            // A file without a single frame is not a .zst file.
            while !self.begun || !self.source.fill_buf()?.is_empty() {
                self.begun = true;
                match self.decoder.reset(&mut self.source) {
                    Ok(()) => return Ok(true),
                    Err(FrameDecoderError::ReadFrameHeaderError(
                        ReadFrameHeaderError::SkipFrame { length, .. },
                    )) => {
                        self.skip(u64::from(length))?;
                    }
                    Err(error) => return Err(damaged(error)),
                }
            }
            Ok(false)
        }

        fn skip(&mut self, length: u64) -> io::Result<()> {
            let mut skipped = self.source.by_ref().take(length);
            if io::copy(&mut skipped, &mut io::sink())? < length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            Ok(())
        }

        /// Checks the frame that has just been read.
        fn check_frame(&self) -> io::Result<()> {
            match (
                self.decoder.get_checksum_from_data(),
                self.decoder.get_calculated_checksum(),
            ) {
                (Some(expected), Some(found)) if expected != found => Err(damaged(
                    "the checksum does not match the content; copy or compress the file again",
                )),
                _ => Ok(()),
            }
        }
    }

    impl<R: BufRead> Read for Frames<R> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            while self.decoder.can_collect() == 0 {
                if !self.decoder.is_finished() {
                    let strategy = BlockDecodingStrategy::UptoBlocks(1);
                    self.decoder
                        .decode_blocks(&mut self.source, strategy)
                        .map_err(damaged)?;
                } else if !self.next_frame()? {
                    return Ok(0);
                }
            }
            self.decoder.read(buffer)
        }
    }

    fn damaged(problem: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, problem)
    }
}

#[cfg(all(test, feature = "compressed"))]
mod tests {
    use std::io::Write;

    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use std::io;

    use crate::input::content::OpenText;

    const TEXT: &[u8] = b"one line\nanother line\n";

    fn read(name: &str, content: &[u8]) -> io::Result<Vec<u8>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join(name);
        std::fs::write(&path, content)?;
        let mut text = Vec::new();
        OpenText::open(&path)?.reader.read_to_end(&mut text)?;
        Ok(text)
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(text: &[u8]) -> Vec<u8> {
        compress_to_vec(text, CompressionLevel::Fastest)
    }

    #[test]
    fn concatenated_streams_are_one_text() {
        let skipped = b"\x51\x2a\x4d\x18\x03\x00\x00\x00abc".as_slice();
        assert_eq!(
            read("a.gz", &[gzip(TEXT), gzip(b""), gzip(TEXT)].concat()).unwrap(),
            TEXT.repeat(2)
        );
        assert_eq!(
            read("a.zst", &[zstd(TEXT), zstd(b""), zstd(TEXT)].concat()).unwrap(),
            TEXT.repeat(2)
        );
        assert_eq!(
            read("a.zst", &[skipped, &zstd(TEXT), skipped, skipped].concat()).unwrap(),
            TEXT
        );
        assert_eq!(
            read("a.zst", &zstd(&TEXT.repeat(100_000))).unwrap(),
            TEXT.repeat(100_000)
        );
        assert_eq!(read("a.txt", TEXT).unwrap(), TEXT);
    }

    #[test]
    fn the_content_decides_and_a_name_that_promises_more_is_an_error() {
        for name in ["a", "a.txt", "a.gz", "a.zst"] {
            assert_eq!(read(name, &gzip(TEXT)).unwrap(), TEXT, "{name}");
            assert_eq!(read(name, &zstd(TEXT)).unwrap(), TEXT, "{name}");
        }
        for name in ["a.gz", "a.zst"] {
            let message = read(name, TEXT).unwrap_err().to_string();
            assert!(message.contains("which the name says"), "{message}");
        }
        let twice = read("a.gz", &gzip(&zstd(TEXT))).unwrap_err();
        assert!(twice.to_string().contains("twice"), "{twice}");
    }

    #[test]
    fn truncated_files_and_wrong_checksums_are_errors() {
        for (name, whole) in [("a.gz", gzip(TEXT)), ("a.zst", zstd(TEXT))] {
            assert_eq!(read(name, &whole).unwrap(), TEXT);
            for length in 0..whole.len() {
                assert!(
                    read(name, &whole[..length]).is_err(),
                    "{name}, {length} of {} bytes",
                    whole.len()
                );
            }
            assert!(
                read(name, &[&whole[..], &whole[..10]].concat()).is_err(),
                "{name}, then a part"
            );
            let mut other = whole.clone();
            // The checksum of gzip precedes the length; that of Zstandard is at the end.
            let checksum = whole.len() - if name == "a.gz" { 5 } else { 1 };
            other[checksum] ^= 1;
            assert!(read(name, &other).is_err(), "{name} with another checksum");
        }
        let truncated_frame = b"\x51\x2a\x4d\x18\x03\x00\x00\x00ab".as_slice();
        assert!(read("a.zst", &[&zstd(TEXT), truncated_frame].concat()).is_err());
    }
}
