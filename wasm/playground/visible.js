// Bytes and texts as nodes of the page. Everything is inserted as text nodes; control, bidirectional and invisible characters
// and bytes that are not UTF-8 are shown as escapes, so that no token changes how another one looks.

/** Characters without a shape of their own: control, format, private, unassigned; separators; ignorable ones. */
const INVISIBLE = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/u;
/** A mark that would combine with the character before it. */
const COMBINING = /^\p{M}/u;
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** An element with attributes and children, which are nodes or strings. */
export function element(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

/** Bytes in hexadecimal, 64 of them at most. */
export function hexText(bytes) {
  const digits = Array.from(bytes.subarray(0, 64), (byte) => byte.toString(16).toUpperCase().padStart(2, "0"));
  return digits.join(" ") + (bytes.length > 64 ? " …" : "");
}

/** The characters of bytes; a number for each byte that is in no character. */
function* characters(bytes) {
  for (let at = 0; at < bytes.length; ) {
    const lead = bytes[at];
    const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    try {
      yield strict.decode(bytes.subarray(at, at + length));
      at += length;
    } catch {
      yield lead;
      at += 1;
    }
  }
}

/** Bytes as an element in which nothing affects the direction of other text. */
export function visibleBytes(bytes) {
  const node = element("bdi", {});
  let text = "";
  const flush = () => {
    node.append(COMBINING.test(text) ? `\u25cc${text}` : text);
    text = "";
  };
  for (const char of characters(bytes)) {
    if (typeof char === "number") {
      flush();
      node.append(element("span", { class: "escape" }, `\\x${char.toString(16).padStart(2, "0")}`));
    } else if (char === " " || char === "\u2581") {
      flush();
      node.append(element("span", { class: "mark" }, char === " " ? "␣" : char));
    } else if (char === "\n") {
      flush();
      node.append(element("span", { class: "mark" }, "⏎\n"));
    } else if (INVISIBLE.test(char)) {
      flush();
      node.append(element("span", { class: "escape" }, `\\u{${char.codePointAt(0).toString(16)}}`));
    } else {
      text += char;
    }
  }
  flush();
  return node;
}

/** A number with groups of three digits. */
export const numberText = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, "\u202f");
