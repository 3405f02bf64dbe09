// Text to tokens, for all types of models: normalize, encode, resolve unknown text.
//
// A token is {id, kind, text, start, end}: its kind is 'piece', 'byte' or 'unknown', its text a byte string, start and
// end the span in the typed text in bytes. Unknown text becomes one token for each byte of each character with byte
// fallback, and otherwise one token for each run.

class Encoder {
  constructor(model) {
    this.model = model;
    this.tables = model.type === 'unigram' ? new UnigramTables(model) : null;
  }

  /** The tokens of a byte string. */
  encode(input) {
    const { text, origins } = this.model.normalizer.normalize(input);
    return this.resolve(this.segment(text), text, origins);
  }

  /** The ids [id, start, end] of normalized text, one unknown id for each unknown character or word. */
  segment(text) {
    switch (this.model.type) {
      case 'bpe':
        return new BpeMerge(this.model, text, null).run().tokens();
      case 'unigram':
        return new UnigramSearch(this.model, this.tables, text).run();
      case 'word':
        return segmentWords(this.model, text);
      default:
        return segmentChars(this.model, text);
    }
  }

  /** The tokens of ids. */
  resolve(segments, text, origins) {
    const tokens = [];
    for (const [id, start, end] of segments) {
      const token = { id, kind: 'piece', text: text.slice(start, end), start: origins[start], end: origins[end] };
      if (id !== this.model.unknown) {
        tokens.push(token);
      } else if (this.model.byteIds) {
        this.pushBytes(token, tokens);
      } else {
        pushUnknown(token, tokens);
      }
    }
    return tokens;
  }

  /** Appends the byte pieces of an unknown token. The last one has the span of the text, the others an empty one. */
  pushBytes(token, tokens) {
    for (let at = 0; at < token.text.length; at++) {
      const isLast = at + 1 === token.text.length;
      tokens.push({
        id: this.model.byteIds[token.text.charCodeAt(at)],
        kind: 'byte',
        text: token.text[at],
        start: token.start,
        end: isLast ? token.end : token.start,
        char: token.text,
      });
    }
  }
}

/** Appends an unknown token, or extends the one before. */
function pushUnknown(token, tokens) {
  const last = tokens[tokens.length - 1];
  if (last && last.kind === 'unknown') {
    last.text += token.text;
    last.end = token.end;
  } else {
    tokens.push({ ...token, kind: 'unknown' });
  }
}

/** The words of a text; a word begins at each whitespace mark and at the start. */
function segmentWords(model, text) {
  const out = [];
  for (let start = 0; start < text.length; ) {
    const search = start + (text.startsWith(WHITESPACE_MARK, start) ? WHITESPACE_MARK.length : 1);
    const next = text.indexOf(WHITESPACE_MARK, search);
    const end = next < 0 ? text.length : next;
    out.push([model.usableId(text.slice(start, end)), start, end]);
    start = end;
  }
  return out;
}

/** The characters and user-defined symbols of a text. */
function segmentChars(model, text) {
  const out = [];
  for (let start = 0; start < text.length; ) {
    const symbol = model.symbols.longest(text, start);
    const end = start + (symbol ? symbol.length : charLength(text, start));
    out.push([symbol ? symbol.value : model.usableId(text.slice(start, end)), start, end]);
    start = end;
  }
  return out;
}
