//! Normalization tables that are nearly right: a real double array with some units changed, or
//! units made to go round in circles, to point outside, or to share everything.

use arbitrary::{Result, Unstructured};

/// The smallest trie that is read.
const BLOCK: usize = 256;
/// Bits of a unit; see `src/normalize/double_array.rs`.
const VALUE: u32 = 1 << 31;
const LEAF: u32 = 1 << 8;
const FAR: u32 = 1 << 9;

/// A charsmap, made from `real` if that is one.
pub fn case(input: &mut Unstructured<'_>, real: &[u8]) -> Result<Vec<u8>> {
    let (mut units, mut pool) = match input.int_in_range(0..=5)? {
        0 => (circles(input)?, pool(input)?),
        1 => (shared(input)?, pool(input)?),
        2 => (units(input)?, pool(input)?),
        _ => split(real).map_or_else(|| Ok((circles(input)?, pool(input)?)), Ok)?,
    };
    for _ in 0..input.int_in_range(0..=6)? {
        change(input, &mut units, &mut pool)?;
    }
    let mut claimed = u32::try_from(units.len() * 4).unwrap_or(u32::MAX);
    if !input.ratio(15, 16)? {
        claimed = *input.choose(&[
            0,
            1,
            1023,
            1024,
            1025,
            claimed - 1,
            claimed + 1024,
            u32::MAX,
            1 << 31,
        ])?;
    }
    let mut bytes = claimed.to_le_bytes().to_vec();
    bytes.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
    bytes.extend(&pool);
    Ok(bytes)
}

/// The units and the pool of a charsmap.
fn split(charsmap: &[u8]) -> Option<(Vec<u32>, Vec<u8>)> {
    let (size, body) = charsmap.split_first_chunk::<4>()?;
    let (trie, pool) = body.split_at_checked(usize::try_from(u32::from_le_bytes(*size)).ok()?)?;
    let units = trie
        .as_chunks::<4>()
        .0
        .iter()
        .map(|unit| u32::from_le_bytes(*unit))
        .collect();
    Some((units, pool.to_vec()))
}

/// A unit that leads from `cell`, which a byte `label` reaches, to `base`.
fn inner(cell: usize, base: usize, label: u8, has_leaf: bool) -> u32 {
    let distance = u32::try_from(cell ^ base).unwrap_or(0);
    u32::from(label) | distance << 10 | if has_leaf { LEAF } else { 0 }
}

/// A trie in which every byte leads back to the root, and no or each byte ends a rule.
fn circles(input: &mut Unstructured<'_>) -> Result<Vec<u32>> {
    let root = 256 + usize::from(input.arbitrary::<u8>()?);
    let has_leaf = input.arbitrary()?;
    let mut units = vec![VALUE; 2 * BLOCK];
    units[0] = inner(0, root, 0, false);
    for label in 1..=u8::MAX {
        let cell = root ^ usize::from(label);
        units[cell] = inner(cell, root, label, has_leaf);
    }
    Ok(units)
}

/// A trie in which all bytes of each of some states lead to the next one: few units, endless rules.
fn shared(input: &mut Unstructured<'_>) -> Result<Vec<u32>> {
    let states = input.int_in_range(1..=12usize)?;
    let mut units = vec![VALUE; (states + 2) * BLOCK];
    units[0] = inner(0, BLOCK, 0, false);
    for state in 1..=states {
        for label in 1..=u8::MAX {
            let cell = (state * BLOCK) ^ usize::from(label);
            units[cell] = inner(cell, (state + 1) * BLOCK, label, state == states);
        }
    }
    Ok(units)
}

/// Any units at all, after a root that is right.
fn units(input: &mut Unstructured<'_>) -> Result<Vec<u32>> {
    let blocks = input.int_in_range(1..=3usize)?;
    let mut units = vec![VALUE; blocks * BLOCK];
    units[0] = inner(0, (blocks - 1) * BLOCK + 1, 0, false);
    for _ in 0..input.int_in_range(0..=60)? {
        change(input, &mut units, &mut [])?;
    }
    Ok(units)
}

/// Replacements: of any bytes, long, none.
fn pool(input: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let mut pool = match input.int_in_range(0..=3)? {
        0 => b"a\0  \0\0\xe2\x96\x81 \0".to_vec(),
        1 => vec![b' '; 3000],
        2 => vec![b'x'; 20_000],
        _ => input.bytes(input.len().min(40))?.to_vec(),
    };
    if input.ratio(15, 16)? {
        pool.push(0);
    }
    Ok(pool)
}

/// Changes one unit or one byte of the pool.
fn change(input: &mut Unstructured<'_>, units: &mut [u32], pool: &mut [u8]) -> Result<()> {
    let cell = input.choose_index(units.len())?;
    let label = u8::try_from(cell & 0xFF).unwrap_or(0);
    units[cell] = match input.int_in_range(0..=8)? {
        0 => VALUE | input.arbitrary::<u32>()?,
        1 => VALUE | u32::try_from(pool.len()).unwrap_or(0),
        2 => inner(
            cell,
            input.choose_index(units.len())?,
            label,
            input.arbitrary()?,
        ),
        3 => inner(
            cell,
            input.choose_index(units.len())?,
            input.arbitrary()?,
            input.arbitrary()?,
        ),
        4 => units[cell] ^ LEAF,
        5 => units[cell] ^ FAR,
        6 => units[cell] ^ (1 << input.int_in_range(0..=31)?),
        7 => input.arbitrary()?,
        _ => {
            if !pool.is_empty() {
                let at = input.choose_index(pool.len())?;
                pool[at] = input.arbitrary()?;
            }
            units[cell]
        }
    };
    Ok(())
}
