// Texts as nodes of the page. Everything is inserted as text nodes; control, bidirectional and invisible characters
// and bytes that are not UTF-8 are shown as escapes, so that no text changes how another one looks.

/** Characters without a shape of their own: control, format, private, unassigned; separators; ignorable ones. */
const INVISIBLE = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/u;
/** A mark that would combine with the character before it. */
const COMBINING = /^\p{M}/u;

/** An element with attributes and children, which are nodes or strings. */
function element(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

/** Removes all children and adds others. */
function replaceChildren(parent, ...children) {
  parent.replaceChildren(...children);
}

/** A byte string as runs [kind, text]; the kinds are 'text', 'mark', 'space' and 'escape'. */
function visibleRuns(bytes) {
  const runs = [];
  const push = (kind, text) => {
    const last = runs[runs.length - 1];
    if (last && last[0] === kind) {
      last[1] += text;
    } else {
      runs.push([kind, text]);
    }
  };
  for (let at = 0; at < bytes.length; ) {
    const length = wellFormedLength(bytes, at);
    if (length === 0) {
      push('escape', '\\x' + hexByte(bytes.charCodeAt(at)));
    } else {
      pushChar(codePointAt(bytes, at, length), push);
    }
    at += Math.max(length, 1);
  }
  return runs;
}

/** Adds a character to runs. */
function pushChar(code, push) {
  const char = String.fromCodePoint(code);
  if (code === 0x2581) {
    push('mark', char);
  } else if (code === 0x20) {
    push('space', '␣');
  } else if (INVISIBLE.test(char)) {
    push('escape', '\\u{' + code.toString(16) + '}');
  } else {
    push('text', char);
  }
}

/** The two hexadecimal digits of a byte. */
function hexByte(byte) {
  return byte.toString(16).padStart(2, '0');
}

/** A byte of a byte string in hexadecimal. */
function byteNode(byte) {
  return element('code', {}, hexByte(byte.charCodeAt(0)).toUpperCase());
}

/** A byte string as an element in which nothing affects the direction of other text. */
function visibleNode(bytes) {
  const node = element('bdi', { class: 'visible' });
  for (const [kind, text] of visibleRuns(bytes)) {
    if (kind === 'text') {
      node.append(COMBINING.test(text) ? '\u25cc' + text : text);
    } else {
      node.append(element('span', { class: kind }, text));
    }
  }
  return node;
}

/** A text of the report, in which spaces stay spaces. */
function visibleText(text) {
  const node = element('bdi', { class: 'visible prose' });
  for (const [kind, run] of visibleRuns(byteStringOfText(text))) {
    if (kind === 'escape') {
      node.append(element('span', { class: kind }, run));
    } else {
      node.append(kind === 'space' ? ' '.repeat(run.length) : run);
    }
  }
  return node;
}

/** The bytes of a byte string in hexadecimal, 64 of them at most. */
function hexText(bytes) {
  const digits = [];
  for (let at = 0; at < Math.min(bytes.length, 64); at++) {
    digits.push(hexByte(bytes.charCodeAt(at)).toUpperCase());
  }
  return digits.join(' ') + (bytes.length > 64 ? ' ...' : '');
}

/** The shortest digits that give the same 32-bit float again. */
function floatText(value) {
  if (Object.is(value, -0)) {
    return '-0';
  }
  for (let digits = 1; digits <= 9; digits++) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === value) {
      return String(Number(text));
    }
  }
  return String(value);
}

/** A number with groups of three digits. */
function numberText(value) {
  return String(value).replace(/\B(?=(\d{3})+$)/g, '\u202f');
}
