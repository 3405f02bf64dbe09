//! Models that are nearly right: a real one, taken apart, with some of its parts changed.

use arbitrary::{Result, Unstructured};
use prost::Message;

use super::charsmap;
use super::seeds::{self, Entry, ModelFile};

/// Kinds of pieces, by their numbers in the file.
const NORMAL: i32 = 1;
const USER_DEFINED: i32 = 4;
const UNUSED: i32 = 5;
const BYTE: i32 = 6;

/// A model file that was changed, texts for it, and a number for what is random in using it.
pub fn case(input: &mut Unstructured<'_>) -> Result<(Vec<u8>, Vec<Vec<u8>>, u64)> {
    let seed = input.arbitrary::<u16>()?;
    let choice = usize::from(input.arbitrary::<u8>()?);
    let (file, texts) = mutation(input, &mut seeds::parts(choice))?;
    Ok((file, texts, u64::from(seed)))
}

/// The file of `model` after some changes, and texts: of its pieces as they were, and as they are.
pub fn mutation(
    input: &mut Unstructured<'_>,
    model: &mut ModelFile,
) -> Result<(Vec<u8>, Vec<Vec<u8>>)> {
    let before = text(input, model)?;
    let file = mutate(input, model)?;
    let after = text(input, model)?;
    Ok((file, vec![before, after]))
}

/// Changes `model` in some ways and gives its file.
fn mutate(input: &mut Unstructured<'_>, model: &mut ModelFile) -> Result<Vec<u8>> {
    for _ in 0..input.int_in_range(1..=5)? {
        match input.int_in_range(0..=11)? {
            0..=3 => change_piece(input, model)?,
            4 => change_bytes(input, model)?,
            5 => change_scores(input, model)?,
            6 => add_chain(input, model)?,
            7 => change_numbers(input, model)?,
            8 => change_flags(input, model)?,
            9 => change_charsmap(input, model)?,
            10 => change_strings(input, model)?,
            _ => add_pieces(input, model)?,
        }
    }
    let mut file = model.encode_to_vec();
    if !input.ratio(7, 8)? {
        damage(input, &mut file)?;
    }
    Ok(file)
}

/// A text: any bytes, pieces of the model side by side, or one of them many times.
fn text(input: &mut Unstructured<'_>, model: &ModelFile) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    match input.int_in_range(0..=3)? {
        0 => text.extend(input.bytes(input.len().min(60))?),
        1 => {
            let piece = any_text(input, model)?;
            let most = (600 / piece.len().max(1)).clamp(1, 300);
            text = piece.repeat(input.int_in_range(1..=most)?);
        }
        _ => {
            for _ in 0..input.int_in_range(0..=12)? {
                text.extend(any_text(input, model)?);
                text.extend(
                    input
                        .choose(&["", "", " ", "\u{2581}", "\0", "\u{1f600}", "a", "\u{fffd}"])?
                        .as_bytes(),
                );
            }
        }
    }
    text.truncate(20_000);
    Ok(text)
}

/// The text of a piece.
fn any_text(input: &mut Unstructured<'_>, model: &ModelFile) -> Result<Vec<u8>> {
    if model.pieces.is_empty() {
        return Ok(b"a".to_vec());
    }
    Ok(model.pieces[input.choose_index(model.pieces.len())?]
        .text
        .clone()
        .unwrap_or_default())
}

fn any_score(input: &mut Unstructured<'_>) -> Result<f32> {
    let strange = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        1e30,
        -1e30,
        f32::MAX,
        f32::MIN,
        f32::NAN,
        -f32::NAN,
        f32::INFINITY,
    ];
    if input.ratio(3, 4)? {
        input.choose(&strange).copied()
    } else {
        input.arbitrary()
    }
}

/// Texts that a piece had better not have, and some that it may.
fn strange_text(input: &mut Unstructured<'_>, model: &ModelFile) -> Result<Vec<u8>> {
    let twice = |text: Vec<u8>| [text.clone(), text].concat();
    Ok(match input.int_in_range(0..=9)? {
        0 => Vec::new(),
        1 => vec![b'a'; input.int_in_range(7_990..=8_010)?],
        2 => any_text(input, model)?,
        3 => twice(any_text(input, model)?),
        4 => input
            .choose(&[
                "\0",
                "a\0",
                "\0a",
                " ",
                "\u{2581}",
                "a b",
                "<unk>",
                "<0x41>",
                "\u{1f600}",
            ])?
            .as_bytes()
            .into(),
        5 => input
            .choose(&[
                &b"\x80"[..],
                b"\xff",
                b"\xe3\x81",
                b"\xf0\x9f\x98",
                b"a\xc3",
                b"\x81b",
                b"\xe2\x96",
            ])?
            .to_vec(),
        6 => [any_text(input, model)?, any_text(input, model)?].concat(),
        // A part of a piece, which may end inside of a character.
        7 => {
            let text = any_text(input, model)?;
            text[..input.int_in_range(0..=text.len())?].to_vec()
        }
        8 => "\u{2581}".repeat(input.int_in_range(1..=40)?).into_bytes(),
        _ => input.bytes(input.len().min(6))?.to_vec(),
    })
}

fn change_piece(input: &mut Unstructured<'_>, model: &mut ModelFile) -> Result<()> {
    if model.pieces.is_empty() {
        return add_pieces(input, model);
    }
    let at = input.choose_index(model.pieces.len())?;
    match input.int_in_range(0..=6)? {
        0 | 1 => model.pieces[at].text = Some(strange_text(input, model)?),
        2 => model.pieces[at].score = Some(any_score(input)?),
        3 => model.pieces[at].kind = Some(input.int_in_range(-1..=8)?),
        4 => drop(model.pieces.remove(at)),
        5 => model.pieces.truncate(at),
        _ => {
            let other = input.choose_index(model.pieces.len())?;
            model.pieces.swap(at, other);
        }
    }
    Ok(())
}

fn add_pieces(input: &mut Unstructured<'_>, model: &mut ModelFile) -> Result<()> {
    for _ in 0..input.int_in_range(1..=8)? {
        let text = strange_text(input, model)?;
        let kind = *input.choose(&[NORMAL, NORMAL, UNUSED, USER_DEFINED, 2, 3])?;
        model.pieces.push(Entry {
            text: Some(text),
            score: Some(any_score(input)?),
            kind: Some(kind),
        });
    }
    Ok(())
}

/// Byte pieces: one missing, one twice, all of them more.
fn change_bytes(input: &mut Unstructured<'_>, model: &mut ModelFile) -> Result<()> {
    let byte = |byte: u8| Entry {
        text: Some(format!("<0x{byte:02X}>").into_bytes()),
        score: Some(0.0),
        kind: Some(BYTE),
    };
    let one = input.arbitrary::<u8>()?;
    match input.int_in_range(0..=3)? {
        0 => model.pieces.push(byte(one)),
        1 => model.pieces.retain(|piece| *piece != byte(one)),
        2 => {
            model.pieces.retain(|piece| piece.kind != Some(BYTE));
            model.pieces.extend((0..=u8::MAX).map(byte));
        }
        _ => model
            .pieces
            .extend((0..=u8::MAX).map(|number| byte(number.max(one)))),
    }
    set_number(&mut model.trainer_spec, 35, u64::from(input.ratio(3, 4)?));
    Ok(())
}

/// The scores of all pieces: one score, steps, or any.
fn change_scores(input: &mut Unstructured<'_>, model: &mut ModelFile) -> Result<()> {
    let (score, step) = (any_score(input)?, any_score(input)?);
    let way = input.int_in_range(0..=2)?;
    let mut place = 0.0;
    for piece in &mut model.pieces {
        piece.score = Some(match way {
            0 => score,
            1 => score + step * place,
            _ => {
                if place.rem_euclid(3.0) < 1.0 {
                    score
                } else {
                    -place
                }
            }
        });
        place += 1.0;
    }
    Ok(())
}

/// Pieces of which each contains the one before: by one character more, or twice.
fn add_chain(input: &mut Unstructured<'_>, model: &mut ModelFile) -> Result<()> {
    let unit = match input.int_in_range(0..=2)? {
        0 => b"a".to_vec(),
        1 => "\u{2581}".into(),
        _ => any_text(input, model)?,
    };
    let (doubles, kind) = (
        input.arbitrary()?,
        *input.choose(&[UNUSED, UNUSED, NORMAL, USER_DEFINED])?,
    );
    let rises = if input.arbitrary()? { 1.0 } else { -1.0 };
    let (mut text, mut score) = (unit.clone(), 0.0);
    for _ in 0..input.int_in_range(1..=if doubles { 13 } else { 200 })? {
        let more = if doubles { text.clone() } else { unit.clone() };
        text.extend(more);
        score += rises;
        model.pieces.push(Entry {
            text: Some(text.clone()),
            score: Some(score),
            kind: Some(kind),
        });
    }
    Ok(())
}

/// The type of the model, ids of special pieces.
fn change_numbers(input: &mut Unstructured<'_>, model: &mut ModelFile) -> Result<()> {
    let field = *input.choose(&[3, 3, 3, 4, 40, 41, 42, 43])?;
    let number = if input.ratio(3, 4)? {
        input.int_in_range(0..=5)?
    } else {
        input.arbitrary()?
    };
    set_number(&mut model.trainer_spec, field, number);
    Ok(())
}

fn change_flags(input: &mut Unstructured<'_>, model: &mut ModelFile) -> Result<()> {
    let on = u64::from(input.arbitrary::<bool>()?);
    if input.ratio(1, 4)? {
        set_number(&mut model.trainer_spec, *input.choose(&[24, 35])?, on);
    } else {
        set_number(&mut model.normalizer_spec, input.int_in_range(3..=5)?, on);
    }
    Ok(())
}

fn change_charsmap(input: &mut Unstructured<'_>, model: &mut ModelFile) -> Result<()> {
    /// The field that a spec has its charsmap in.
    #[derive(Message)]
    struct Spec {
        #[prost(bytes = "vec", tag = "2")]
        charsmap: Vec<u8>,
    }
    let is_denormalizer = !input.ratio(3, 4)?;
    let spec = if is_denormalizer {
        model.denormalizer_spec.get_or_insert_default()
    } else {
        &mut model.normalizer_spec
    };
    let real = Spec::decode(&spec[..])
        .map(|spec| spec.charsmap)
        .unwrap_or_default();
    let charsmap = charsmap::case(input, &real)?;
    set_bytes(spec, 2, &charsmap);
    Ok(())
}

/// Names and texts of special pieces.
fn change_strings(input: &mut Unstructured<'_>, model: &mut ModelFile) -> Result<()> {
    let field = input.int_in_range(44..=48)?;
    let text = strange_text(input, model)?;
    set_bytes(&mut model.trainer_spec, field, &text);
    Ok(())
}

/// Appends a field with a number; what comes last counts.
fn set_number(spec: &mut Vec<u8>, field: u32, number: u64) {
    prost::encoding::uint64::encode(field, &number, spec);
}

/// Appends a field with bytes.
fn set_bytes(spec: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    prost::encoding::bytes::encode(field, &bytes.to_vec(), spec);
}

/// Damages a file without a thought for what it means.
fn damage(input: &mut Unstructured<'_>, file: &mut Vec<u8>) -> Result<()> {
    if file.is_empty() {
        return Ok(());
    }
    let at = input.choose_index(file.len())?;
    match input.int_in_range(0..=3)? {
        0 => file[at] = input.arbitrary()?,
        1 => file.truncate(at),
        2 => file.extend_from_within(at..),
        _ => file[at] ^= 1 << input.int_in_range(0..=7)?,
    }
    Ok(())
}

/// Overwrites a part of a file by all but the first two bytes of `change`, at the position that
/// these say; false if `change` is too short for that.
#[cfg(any(feature = "formats", feature = "parquet"))]
pub fn overwrite(file: &mut [u8], change: &[u8]) -> bool {
    let [high, low, change @ ..] = change else {
        return false;
    };
    let position = usize::from(u16::from_be_bytes([*high, *low])) % file.len();
    let length = change.len().min(file.len() - position);
    file[position..position + length].copy_from_slice(&change[..length]);
    true
}
