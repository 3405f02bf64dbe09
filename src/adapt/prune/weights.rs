//! Rows of embedding tables follow the pieces: a `.safetensors` file with the rows of the kept ids.
//!
//! Input: a `.safetensors` file, the names of tensors whose first dimension is the vocabulary, and
//! for each new id the old one. Output: a `.safetensors` file with the same tensors in the same
//! order; in the named ones, row n is the row of the old id of n, bit for bit; all others are
//! copied. Rows of the input beyond the vocabulary (padding) are dropped.
//!
//! The format: 8 bytes with the length of a header in JSON, the header (for each tensor its type,
//! shape and range of bytes), the bytes of all tensors. The header is read and validated by the
//! crate `safetensors`; data is copied without being interpreted, so every type of number is
//! supported, and a file need not fit in memory.
//!
//! Example: the tensor `embed` of shape [4, 2] and type F16 has rows of 4 bytes. For the new ids 0,
//! 1 with old ids 0, 3 the bytes 0 to 3 and 12 to 15 of the tensor are written, and the shape is
//! [2, 2].
//!
//! Cost: one pass over the input; memory for the header and one buffer. [`RowGather::check`] reads
//! both files once more.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use safetensors::tensor::{Metadata, TensorInfo};

use super::PrunedModel;
use crate::adapt::error::{GuaranteeError, WeightsError};
use crate::piece::PieceId;

/// Bytes of the length of the header.
const LENGTH_BYTES: usize = 8;
/// Longer headers are refused, as the crate `safetensors` does.
const MAX_HEADER_BYTES: u64 = 100_000_000;

/// A `.safetensors` file, and the rows that are to be gathered from it.
#[derive(Debug)]
pub struct RowGather {
    path: PathBuf,
    /// The position of the first tensor's bytes.
    data_start: u64,
    tensors: Vec<GatheredTensor>,
    /// The old id of each new row.
    rows: Vec<PieceId>,
    header: Vec<u8>,
}

/// A tensor of the input.
#[derive(Debug)]
struct GatheredTensor {
    name: String,
    /// The range of its bytes, from the start of the data.
    begin: u64,
    end: u64,
    /// The bytes of a row, if rows are gathered.
    row_bytes: Option<u64>,
}

impl PrunedModel {
    /// Prepares the gathering of rows from a `.safetensors` file: the header is read and checked.
    ///
    /// # Errors
    /// The file cannot be read or is malformed, has no tensor of one of the names, or has fewer
    /// rows than the original model has pieces.
    pub fn gather_rows(
        &self,
        path: impl AsRef<Path>,
        names: &[impl AsRef<str>],
    ) -> Result<RowGather, WeightsError> {
        let path = path.as_ref();
        let (metadata, data_start) = read_header(path)?;
        let rows = self.old_ids_of_rows();
        for name in names.iter().map(AsRef::as_ref) {
            check_tensor(path, &metadata, name, self.ids.old_len())?;
        }
        let is_named = |name: &str| names.iter().any(|wanted| wanted.as_ref() == name);
        let mut tensors = Vec::new();
        for name in metadata.offset_keys() {
            if let Some(info) = metadata.info(&name) {
                tensors.push(GatheredTensor {
                    begin: info.data_offsets.0 as u64,
                    end: info.data_offsets.1 as u64,
                    row_bytes: is_named(&name).then(|| row_bytes(info)),
                    name,
                });
            }
        }
        let header = new_header(&metadata, &tensors, rows.len())
            .map_err(|problem| format_error(path, problem))?;
        Ok(RowGather {
            path: path.to_owned(),
            data_start,
            tensors,
            rows,
            header,
        })
    }

    /// The old id of each row of the new tables.
    fn old_ids_of_rows(&self) -> Vec<PieceId> {
        let new_ids = self.ids.new_ids().take(self.rows());
        new_ids.filter_map(|id| self.ids.old_id(id)).collect()
    }
}

/// The header of a file, and the position of the data.
fn read_header(path: &Path) -> Result<(Metadata, u64), WeightsError> {
    let failed = |source| read_error(path, source);
    let mut file = File::open(path).map_err(failed)?;
    let file_bytes = file.metadata().map_err(failed)?.len();
    let header_bytes = read_length(&mut file).map_err(failed)?;
    let data_start = header_bytes.saturating_add(LENGTH_BYTES as u64);
    if header_bytes > MAX_HEADER_BYTES || data_start > file_bytes {
        let problem = "the length of the header is wrong";
        return Err(format_error(path, problem));
    }
    let mut header = Vec::new();
    let mut json = file.take(header_bytes);
    json.read_to_end(&mut header).map_err(failed)?;
    let metadata: Metadata =
        serde_json::from_slice(&header).map_err(|error| format_error(path, error))?;
    if (metadata.data_len() as u64).checked_add(data_start) != Some(file_bytes) {
        let problem = "its size is not the one that its header says";
        return Err(format_error(path, problem));
    }
    Ok((metadata, data_start))
}

/// Reads the length of the header.
fn read_length(file: &mut File) -> io::Result<u64> {
    let mut length = [0; LENGTH_BYTES];
    file.read_exact(&mut length)?;
    Ok(u64::from_le_bytes(length))
}

fn read_error(path: &Path, source: io::Error) -> WeightsError {
    WeightsError::Read {
        path: path.to_owned(),
        source,
    }
}

fn format_error(path: &Path, problem: impl ToString) -> WeightsError {
    WeightsError::Format {
        path: path.to_owned(),
        problem: problem.to_string(),
    }
}

/// Checks that rows can be gathered from a tensor.
fn check_tensor(
    path: &Path,
    metadata: &Metadata,
    name: &str,
    pieces: usize,
) -> Result<(), WeightsError> {
    let Some(info) = metadata.info(name) else {
        let mut names = metadata.offset_keys();
        names.truncate(20);
        return Err(WeightsError::NoTensor {
            path: path.to_owned(),
            name: name.to_owned(),
            names,
        });
    };
    let rows = row_count(info);
    if rows < pieces || rows == 0 {
        return Err(WeightsError::TooFewRows {
            name: name.to_owned(),
            rows,
            pieces,
        });
    }
    if !byte_count(info).is_multiple_of(rows) {
        return Err(WeightsError::SplitBytes {
            name: name.to_owned(),
        });
    }
    Ok(())
}

/// The bytes of a row of a tensor that was checked.
fn row_bytes(info: &TensorInfo) -> u64 {
    let rows = row_count(info).max(1);
    (byte_count(info) / rows) as u64
}

/// The number of rows of a tensor; 0 without dimensions.
fn row_count(info: &TensorInfo) -> usize {
    info.shape.first().copied().unwrap_or(0)
}

/// The number of bytes of a tensor.
fn byte_count(info: &TensorInfo) -> usize {
    let (begin, end) = info.data_offsets;
    end - begin
}

/// The length and the bytes of the header of the new file.
fn new_header(
    metadata: &Metadata,
    tensors: &[GatheredTensor],
    rows: usize,
) -> Result<Vec<u8>, String> {
    let mut begin = 0;
    let mut infos = Vec::new();
    for tensor in tensors {
        let Some(mut info) = metadata.info(&tensor.name).cloned() else {
            continue;
        };
        let mut bytes = byte_count(&info);
        if tensor.row_bytes.is_some() {
            bytes = bytes / info.shape[0].max(1) * rows;
            info.shape[0] = rows;
        }
        info.data_offsets = (begin, begin + bytes);
        begin += bytes;
        infos.push((tensor.name.clone(), info));
    }
    let new = Metadata::new(metadata.metadata().clone(), infos);
    let new = new.map_err(|error| error.to_string())?;
    let json = padded_json(&new).map_err(|error| error.to_string())?;
    let length = (json.len() as u64).to_le_bytes();
    Ok([&length[..], &json].concat())
}

/// The header in JSON, with spaces up to a multiple of eight bytes.
fn padded_json(header: &Metadata) -> serde_json::Result<Vec<u8>> {
    // A value has its keys sorted, so that equal headers have equal bytes.
    let value = serde_json::to_value(header)?;
    let mut json = value.to_string().into_bytes();
    json.resize(json.len().next_multiple_of(LENGTH_BYTES), b' ');
    Ok(json)
}

impl RowGather {
    /// The number of rows of the named tensors.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Writes the new file.
    ///
    /// # Errors
    /// The input cannot be read any longer, or `out` returns an error.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut input = BufReader::new(File::open(&self.path)?);
        let mut out = BufWriter::with_capacity(1 << 16, out);
        out.write_all(&self.header)?;
        for tensor in &self.tensors {
            for range in self.ranges(tensor) {
                input.seek(SeekFrom::Start(self.data_start + range.0))?;
                let mut part = input.by_ref().take(range.1 - range.0);
                if io::copy(&mut part, &mut out)? != range.1 - range.0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
        }
        out.flush()
    }

    /// The ranges of bytes of the input that make a tensor of the new file.
    fn ranges<'g>(
        &'g self,
        tensor: &'g GatheredTensor,
    ) -> Box<dyn Iterator<Item = (u64, u64)> + 'g> {
        match tensor.row_bytes {
            None => Box::new(std::iter::once((tensor.begin, tensor.end))),
            Some(bytes) => Box::new(self.rows.iter().map(move |old| {
                let begin = tensor.begin + u64::from(old.get()) * bytes;
                (begin, begin + bytes)
            })),
        }
    }

    /// Checks that a written file has the rows of the input, bit for bit, and all other tensors.
    ///
    /// # Errors
    /// A file cannot be read, or bytes differ.
    pub fn check(&self, written: impl AsRef<Path>) -> Result<(), WeightsError> {
        let written = written.as_ref();
        let failed = |source| read_error(written, source);
        let (metadata, data_start) = read_header(written)?;
        let mut file = File::open(written).map_err(failed)?;
        file.seek(SeekFrom::Start(data_start)).map_err(failed)?;
        let mut comparison = RowComparison {
            file: BufReader::new(file),
            is_equal: true,
        };
        let skipped = self.header.len();
        let mut skip = SkipFirst {
            inner: &mut comparison,
            skipped,
        };
        self.write_to(&mut skip).map_err(failed)?;
        let is_complete = metadata.offset_keys().len() == self.tensors.len();
        if comparison.is_equal && is_complete && comparison.is_at_end().map_err(failed)? {
            return Ok(());
        }
        Err(other_rows(written).into())
    }
}

fn other_rows(written: &Path) -> GuaranteeError {
    let path = written.display();
    GuaranteeError::new(format!("the rows in {path} are those of the input"))
}

/// Compares what is written to it with a file.
struct RowComparison {
    file: BufReader<File>,
    is_equal: bool,
}

impl RowComparison {
    fn is_at_end(&mut self) -> io::Result<bool> {
        Ok(self.file.read(&mut [0])? == 0)
    }
}

impl Write for RowComparison {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut other = vec![0; bytes.len()];
        match self.file.read_exact(&mut other) {
            Ok(()) => self.is_equal &= other == bytes,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => self.is_equal = false,
            Err(error) => return Err(error),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Drops the first bytes that are written to it.
struct SkipFirst<'w> {
    inner: &'w mut RowComparison,
    skipped: usize,
}

impl Write for SkipFirst<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let dropped = self.skipped.min(bytes.len());
        self.skipped -= dropped;
        self.inner.write_all(&bytes[dropped..])?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Model, PieceUsage, PruneGoal, PruneOptions};

    /// A file with a table of 4,000 rows (and 2 rows of padding) of three 16-bit numbers, another
    /// tensor, and metadata.
    fn weights() -> Vec<u8> {
        let rows = 4002;
        let header = format!(
            "{{\"__metadata__\":{{\"format\":\"pt\",\"a\":\"b\"}},\"norm\":{{\"dtype\":\"F32\",\"shape\":[2],\
             \"data_offsets\":[0,8]}},\"embed\":{{\"dtype\":\"F16\",\"shape\":[{rows},3],\"data_offsets\":[8,{}]}}}}",
            8 + rows * 6
        );
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend(header.bytes());
        file.extend([1, 2, 3, 4, 5, 6, 7, 8]);
        for row in 0..rows {
            for column in 0..3 {
                file.extend(
                    u16::try_from((row * 3 + column) % 65_000)
                        .unwrap()
                        .to_le_bytes(),
                );
            }
        }
        file
    }

    fn pruned() -> PrunedModel {
        let root = env!("CARGO_MANIFEST_DIR");
        let model = Model::open(format!("{root}/testdata/golden/llama2.model")).unwrap();
        let options = PruneOptions::new(PruneGoal::Size(2400));
        model.prune(&PieceUsage::none(&model), &options).unwrap()
    }

    #[test]
    fn rows_are_gathered_bit_for_bit() {
        let folder = tempfile::tempdir().unwrap();
        let input = folder.path().join("in.safetensors");
        std::fs::write(&input, weights()).unwrap();
        let pruned = pruned();
        let gather = pruned.gather_rows(&input, &["embed"]).unwrap();
        let mut out = Vec::new();
        gather.write_to(&mut out).unwrap();
        let read = safetensors::SafeTensors::deserialize(&out).unwrap();
        assert_eq!(
            read.tensor("norm").unwrap().data(),
            [1, 2, 3, 4, 5, 6, 7, 8]
        );
        let embed = read.tensor("embed").unwrap();
        assert_eq!(embed.shape(), [2400, 3]);
        for (new, row) in (0..).zip(embed.data().chunks(6)) {
            let old = pruned.ids().old_id(PieceId::new(new)).unwrap().get();
            let first = u16::try_from(old * 3 % 65_000).unwrap();
            assert_eq!(row[..2], first.to_le_bytes(), "{new}");
        }
        let output = folder.path().join("out.safetensors");
        std::fs::write(&output, &out).unwrap();
        gather.check(&output).unwrap();
        *out.last_mut().unwrap() ^= 1;
        std::fs::write(&output, &out).unwrap();
        assert!(matches!(
            gather.check(&output),
            Err(WeightsError::Guarantee(_))
        ));
        let mut again = Vec::new();
        pruned
            .gather_rows(&input, &["embed"])
            .unwrap()
            .write_to(&mut again)
            .unwrap();
        *again.last_mut().unwrap() ^= 1;
        assert!(again == out, "two runs differ");
    }

    #[test]
    fn damaged_files_and_wrong_names_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let input = folder.path().join("in.safetensors");
        let good = weights();
        let pruned = pruned();
        std::fs::write(&input, &good).unwrap();
        let error = pruned.gather_rows(&input, &["head"]).unwrap_err();
        assert!(
            matches!(&error, WeightsError::NoTensor { names, .. } if names.len() == 2),
            "{error}"
        );
        let error = pruned.gather_rows(&input, &["norm"]).unwrap_err();
        assert!(
            matches!(error, WeightsError::TooFewRows { rows: 2, .. }),
            "{error}"
        );
        for cut in [0, 5, 8, 40, good.len() - 1] {
            std::fs::write(&input, &good[..cut]).unwrap();
            assert!(pruned.gather_rows(&input, &["embed"]).is_err(), "{cut}");
        }
        for byte in 0..200 {
            let mut bad = good.clone();
            bad[byte] = bad[byte].wrapping_add(1);
            std::fs::write(&input, &bad).unwrap();
            // Some bytes are names; none may panic.
            let _ = pruned.gather_rows(&input, &["embed"]);
        }
    }
}
