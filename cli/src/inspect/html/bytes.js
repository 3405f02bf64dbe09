// Bytes, characters and Base64.
//
// Texts are kept as "byte strings": strings with one unit from 0 to 255 for each byte of the UTF-8 form. They hold any
// bytes, also those that are not UTF-8, their slices are cheap, and they can be keys of a Map.

/** The whitespace mark U+2581 and the replacement character U+FFFD, as byte strings. */
const WHITESPACE_MARK = '\xe2\x96\x81';
const REPLACEMENT = '\xef\xbf\xbd';

/** The bytes of a Base64 text. */
function bytesFromBase64(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) {
    bytes[at] = binary.charCodeAt(at);
  }
  return bytes;
}

/** The byte string of bytes. Parts bound the number of arguments of a call. */
function byteString(bytes) {
  const parts = [];
  for (let at = 0; at < bytes.length; at += 4096) {
    parts.push(String.fromCharCode(...bytes.subarray(at, at + 4096)));
  }
  return parts.join('');
}

const utf8Encoder = new TextEncoder();

/** The byte string of a text in UTF-8. */
function byteStringOfText(text) {
  return byteString(utf8Encoder.encode(text));
}

/**
 * The length of the character at a position of normalized text: what its first byte declares, cut at the end. The other
 * bytes are not examined.
 */
function charLength(bytes, at) {
  const lead = bytes.charCodeAt(at);
  const declared = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  return Math.min(declared, bytes.length - at);
}

/** The length of the well-formed character at a position; 0 if the byte there begins none. */
function wellFormedLength(bytes, at) {
  const lead = bytes.charCodeAt(at);
  if (lead < 0x80) {
    return 1;
  }
  const length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (length === 0 || at + length > bytes.length) {
    return 0;
  }
  for (let next = at + 1; next < at + length; next++) {
    if ((bytes.charCodeAt(next) & 0xc0) !== 0x80) {
      return 0;
    }
  }
  const second = bytes.charCodeAt(at + 1);
  const isOverlong = (lead === 0xe0 && second < 0xa0) || (lead === 0xf0 && second < 0x90);
  const isTooHigh = (lead === 0xed && second > 0x9f) || (lead === 0xf4 && second > 0x8f);
  return isOverlong || isTooHigh ? 0 : length;
}

/** The code point of a well-formed character of this length. */
function codePointAt(bytes, at, length) {
  if (length === 1) {
    return bytes.charCodeAt(at);
  }
  let code = bytes.charCodeAt(at) & (0x7f >> length);
  for (let next = at + 1; next < at + length; next++) {
    code = (code << 6) | (bytes.charCodeAt(next) & 0x3f);
  }
  return code;
}

/** The number of characters of normalized text. */
function countChars(bytes) {
  let count = 0;
  for (let at = 0; at < bytes.length; at += charLength(bytes, at)) {
    count++;
  }
  return count;
}
