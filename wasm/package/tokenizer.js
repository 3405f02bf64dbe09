// What both modules of the package share: tokenizers, decoders and encoders over the bindings of a WebAssembly module.

const MAX_ID = 0xffffffff;
const encoder = new TextEncoder();
const utf8 = new TextDecoder();

/** The ids as the module takes them. Numbers that are no ids are refused here: the module would see other numbers. */
function checkedIds(ids) {
  if (ids instanceof Uint32Array) return ids;
  const array = Array.isArray(ids) || ArrayBuffer.isView(ids) ? ids : Array.from(ids);
  const checked = new Uint32Array(array.length);
  for (let index = 0; index < array.length; index++) {
    checked[index] = checkedId(array[index]);
  }
  return checked;
}

function checkedId(id) {
  if (!Number.isInteger(id) || id < 0 || id > MAX_ID) throw new RangeError(`${String(id)} is no id: ids are integers from 0 on`);
  return id;
}

function checkedText(text) {
  if (typeof text !== "string") throw new TypeError(`a text is a string, not ${text === null ? "null" : typeof text}`);
  return text;
}

function bytesOf(file) {
  if (file instanceof Uint8Array) return file;
  if (file instanceof ArrayBuffer) return new Uint8Array(file);
  if (ArrayBuffer.isView(file)) return new Uint8Array(file.buffer, file.byteOffset, file.byteLength);
  throw new TypeError("the contents of a file are a Uint8Array or an ArrayBuffer");
}

/** The arguments of the bindings for {pattern, specialTokens}. */
function formatArguments({ pattern, specialTokens } = {}) {
  if (specialTokens === undefined) return [pattern, undefined, undefined];
  const entries = specialTokens instanceof Map ? [...specialTokens] : Object.entries(specialTokens);
  return [pattern, entries.map(([text]) => text), Uint32Array.from(entries, ([, id]) => checkedId(id))];
}

/** Decodes ids one by one; never half a character. */
export class Decoder {
  #core;

  constructor(core) {
    this.#core = core;
  }

  push(id) {
    return this.#core.push(checkedId(id));
  }

  finish() {
    return this.#core.finish();
  }

  free() {
    this.#core.free();
  }
}

/** Encodes a text that grows at its end. */
export class AppendingEncoder {
  #core;

  constructor(core) {
    this.#core = core;
  }

  push(text) {
    const kept = this.#core.push(checkedText(text));
    return { kept, added: this.#core.ids(kept) };
  }

  get ids() {
    return this.#core.ids(0);
  }

  clear() {
    this.#core.clear();
  }

  free() {
    this.#core.free();
  }
}

/** Encodes and decodes; made by `load`. */
export class Tokenizer {
  #core;

  constructor(core) {
    this.#core = core;
  }

  encode(text) {
    return this.#core.encode(checkedText(text));
  }

  encodeBatch(texts) {
    return Array.from(texts, (text) => this.encode(text));
  }

  encodeSegments(segments) {
    const given = this.#core.segments();
    try {
      for (const { text, tokenizer = this } of segments) {
        if (!(tokenizer instanceof Tokenizer)) throw new TypeError("the tokenizer of a segment is one that load or withOptions gave");
        given.push(checkedText(text), tokenizer.#core);
      }
      return this.#core.encodeSegments(given);
    } finally {
      given.free();
    }
  }

  count(text) {
    return this.#core.count(checkedText(text));
  }

  tokens(text) {
    const numbers = this.#core.tokens(checkedText(text));
    const tokens = new Array(numbers.length / 3);
    for (let token = 0, at = 0; token < tokens.length; token++, at += 3) {
      tokens[token] = { id: numbers[at], start: numbers[at + 1], end: numbers[at + 2] };
    }
    return tokens;
  }

  decode(ids, { strict = false } = {}) {
    return this.#core.decode(checkedIds(ids), strict);
  }

  decodeBatch(batch, options) {
    return Array.from(batch, (ids) => this.decode(ids, options));
  }

  decodeToBytes(ids) {
    return this.#core.decodeToBytes(checkedIds(ids));
  }

  decoder() {
    return new Decoder(this.#core.decoder());
  }

  appendingEncoder() {
    return new AppendingEncoder(this.#core.appendingEncoder());
  }

  withOptions({ allowedSpecial = [], refuseSpecial = false, userDefinedSymbols = true, extra = "" } = {}) {
    const allowed = allowedSpecial === "all" ? this.specialTokens.keys() : allowedSpecial;
    if (typeof allowed === "string") throw new TypeError('allowedSpecial is "all" or a list of special tokens');
    return new Tokenizer(this.#core.withOptions(Array.from(allowed, checkedText), refuseSpecial, userDefinedSymbols, extra));
  }

  get vocabSize() {
    return this.#core.vocabSize;
  }

  get modelType() {
    return this.#core.modelType;
  }

  get specialTokens() {
    return new Map(Array.from(this.#core.specialIds, (id) => [this.piece(id), id]));
  }

  piece(id) {
    const bytes = this.pieceBytes(id);
    return bytes && utf8.decode(bytes);
  }

  pieceBytes(id) {
    return this.#core.pieceBytes(checkedId(id));
  }

  pieceId(piece) {
    return this.#core.pieceId(typeof piece === "string" ? encoder.encode(piece) : bytesOf(piece));
  }

  kind(id) {
    return this.#core.kind(checkedId(id));
  }

  score(id) {
    return this.#core.score(checkedId(id));
  }

  normalize(text) {
    return this.#core.normalize(checkedText(text));
  }

  // Only the module with training has it.
  merges(id) {
    const numbers = this.#core.merges(checkedId(id));
    const merges = new Array(numbers.length / 4);
    for (let merge = 0, at = 0; merge < merges.length; merge++, at += 4) {
      const [made, start, middle, end] = numbers.subarray(at, at + 4);
      merges[merge] = { id: made, left: { start, end: middle }, right: { start: middle, end } };
    }
    return merges;
  }

  free() {
    this.#core.free();
  }

  [Symbol.dispose ?? Symbol.for("Symbol.dispose")]() {
    this.free();
  }
}

/** Makes `load` and `loadVocabAndMerges` for a module, which is compiled once, by the first call. */
export function loaders(bindings, wasm) {
  let ready;
  const initialize = () => (ready ??= Promise.resolve(wasm()).then((module_or_path) => bindings.default({ module_or_path })));
  return {
    initialize,
    async load(file, options) {
      const [bytes, rest] = [bytesOf(file), formatArguments(options)];
      await initialize();
      return new Tokenizer(bindings.CoreTokenizer.load(bytes, ...rest));
    },
    async loadVocabAndMerges(vocab, merges, options) {
      const [files, rest] = [[vocab, merges].map(bytesOf), formatArguments(options)];
      await initialize();
      return new Tokenizer(bindings.CoreTokenizer.loadVocabAndMerges(...files, ...rest));
    },
  };
}
