// The compiled rules of a normalizer: a double array from sources to positions in a block of targets.
//
// Layout: 4 bytes with the size of the array in bytes, the array of 32-bit units, the targets, each ended by NUL.
// A unit of the array has in bits 0-7 the byte by which its cell is reached, in bit 8 whether a source ends there, in
// bits 10-30 the distance to the base of its children (times 256 if bit 9 is set), and in bit 31 whether it is a value.

/** The limits of the reference, and the longest source that is followed. */
const MAX_RULE_MATCHES = 32;
const MAX_SOURCE_BYTES = 1000;

/** The distance from the cell of a unit to the base of its children. */
function unitOffset(unit) {
  return (unit >>> 10) << ((unit & 0x200) >>> 6);
}

class Charsmap {
  /** Reads a charsmap that the program has checked. */
  constructor(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const size = view.getUint32(0, true);
    this.units = new Uint32Array(size / 4);
    for (let cell = 0; cell < this.units.length; cell++) {
      this.units[cell] = view.getUint32(4 + 4 * cell, true);
    }
    this.targets = byteString(bytes.subarray(4 + size));
  }

  /** The longest rule at a position of a text, as {length, target}; null if there is none. */
  longest(text, at) {
    const limit = Math.min(text.length, at + MAX_SOURCE_BYTES);
    let base = unitOffset(this.units[0]);
    let found = -1;
    let length = 0;
    let matches = 0;
    for (let end = at; end < limit && matches < MAX_RULE_MATCHES; end++) {
      const cell = base ^ text.charCodeAt(end);
      const unit = this.units[cell];
      if (cell >= this.units.length || (unit & 0x800000ff) >>> 0 !== text.charCodeAt(end)) {
        break;
      }
      base = cell ^ unitOffset(unit);
      if (unit & 0x100) {
        found = this.units[base] & 0x7fffffff;
        length = end + 1 - at;
        matches++;
      }
    }
    return found < 0 ? null : { length, target: this.target(found) };
  }

  /** The target at a position of the block. */
  target(start) {
    const end = this.targets.indexOf('\0', start);
    return this.targets.slice(start, end < 0 ? undefined : end);
  }
}
