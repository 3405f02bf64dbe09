// Normalization: the typed text -> the text that pieces are made of.
//
// At each position the first of these that applies is taken: the longest user-defined symbol, the longest rule, a
// well-formed character, U+FFFD for a malformed byte. Then spaces are treated as the options of the model say.

/** A text that is being normalized: its bytes, and for each byte the position in the input that it comes from. */
class NormalizedText {
  constructor() {
    this.parts = [];
    this.origins = [];
  }

  push(bytes, origin) {
    this.parts.push(bytes);
    for (let count = 0; count < bytes.length; count++) {
      this.origins.push(origin);
    }
  }
}

class Normalizer {
  /** A normalizer with the options, the rules (or null) and the user-defined symbols of a model. */
  constructor(options, charsmap, symbols) {
    this.options = options;
    this.charsmap = charsmap;
    this.symbols = symbols;
    this.mark = options.escapeWhitespaces ? WHITESPACE_MARK : ' ';
    this.hasSuffix = options.addDummyPrefix && options.whitespaceAsSuffix;
  }

  /**
   * Normalizes a byte string. Returns {text, origins}: for each byte of the text and for its end the position in the
   * input; there are no origins if nothing is left.
   */
  normalize(input) {
    const start = this.leadingSpaces(input);
    if (start === input.length) {
      return { text: '', origins: [] };
    }
    const out = new NormalizedText();
    if (this.options.addDummyPrefix && !this.hasSuffix) {
      out.push(this.mark, start);
    }
    this.addSteps(input, start, out);
    return this.finish(out, input.length);
  }

  /** One step: what is written for the start of the rest of the input, and the length that it replaces. */
  next(input, at) {
    const symbol = this.symbols.longest(input, at);
    if (symbol) {
      return { bytes: input.slice(at, at + symbol.length), length: symbol.length };
    }
    const rule = this.charsmap && this.charsmap.longest(input, at);
    if (rule) {
      return { bytes: rule.target, length: rule.length };
    }
    const length = wellFormedLength(input, at);
    if (length === 0) {
      return { bytes: REPLACEMENT, length: 1 };
    }
    return { bytes: input.slice(at, at + length), length };
  }

  /** The length of the spaces at the start that are removed. */
  leadingSpaces(input) {
    let at = 0;
    while (this.options.removeExtraWhitespaces && at < input.length) {
      const step = this.next(input, at);
      if (step.bytes !== ' ') {
        break;
      }
      at += step.length;
    }
    return at;
  }

  /** Writes the steps from a position on. */
  addSteps(input, start, out) {
    const removes = this.options.removeExtraWhitespaces;
    let afterSpace = removes;
    let at = start;
    while (at < input.length) {
      const step = this.next(input, at);
      let bytes = step.bytes;
      while (afterSpace && bytes.startsWith(' ')) {
        bytes = bytes.slice(1);
      }
      const endsInSpace = bytes === '' ? afterSpace : bytes.endsWith(' ');
      out.push(bytes.replaceAll(' ', this.mark), at);
      at += step.length;
      afterSpace = removes && endsInSpace;
    }
  }

  /** Removes marks at the end, and adds the dummy prefix if that is a suffix. */
  finish(out, inputLength) {
    let text = out.parts.join('');
    let end = inputLength;
    let kept = text.length;
    while (this.options.removeExtraWhitespaces && text.endsWith(this.mark, kept)) {
      kept -= this.mark.length;
      end = out.origins[kept];
    }
    text = text.slice(0, kept);
    const origins = out.origins.slice(0, kept);
    if (this.hasSuffix) {
      text += this.mark;
      origins.push(...Array(this.mark.length).fill(end));
    }
    origins.push(end);
    return { text, origins };
  }
}
