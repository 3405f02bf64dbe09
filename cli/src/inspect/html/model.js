// A model as the page holds it: pieces, scores and kinds by id, the lookups of the encoders, and the normalizer.

/** The kinds of pieces, in the order of their numbers in the data. */
const KIND_NAMES = ['normal', 'unknown', 'control', 'user-defined', 'unused', 'byte'];
const NORMAL = 0;
const UNKNOWN = 1;
const USER_DEFINED = 3;
const UNUSED = 4;
const BYTE = 5;

class Model {
  /** Reads an object of the list `models` of the data. */
  constructor(data) {
    this.report = data.report;
    this.data = data;
    this.name = data.report.model;
    this.type = data.report.model_type;
    this.pieces = data.pieces.map((piece) =>
      typeof piece === 'string' ? byteStringOfText(piece) : byteString(Uint8Array.from(piece)),
    );
    this.kinds = kindsFromRuns(data.kinds, this.pieces.length);
    this.readScores(bytesFromBase64(data.scores));
    // -1 in a model that has no unknown piece, but a piece for each byte.
    this.unknown = this.kinds.indexOf(UNKNOWN);
    this.byteIds = data.report.flags.byte_fallback ? this.findByteIds() : null;
    this.buildLookups();
    this.normalizer = this.buildNormalizer();
  }

  /** The scores as floats, and their bits as signed numbers. */
  readScores(bytes) {
    const view = new DataView(bytes.buffer);
    this.scores = new Float32Array(this.pieces.length);
    this.scoreBits = new Int32Array(this.pieces.length);
    for (let id = 0; id < this.pieces.length; id++) {
      this.scores[id] = view.getFloat32(4 * id, true);
      this.scoreBits[id] = view.getInt32(4 * id, true);
    }
  }

  /** Whether text can yield a piece, unused pieces included. The reference leaves a lone NUL out of its tables. */
  isFromText(id) {
    const kind = this.kinds[id];
    return (kind === NORMAL || kind === USER_DEFINED || kind === UNUSED) && this.pieces[id] !== '\0';
  }

  /** The lookups: texts to ids, and the user-defined symbols. */
  buildLookups() {
    this.idOfText = new Map();
    this.maxPieceLength = 0;
    const symbols = [];
    for (let id = 0; id < this.pieces.length; id++) {
      if (this.isFromText(id)) {
        this.idOfText.set(this.pieces[id], id);
        this.maxPieceLength = Math.max(this.maxPieceLength, this.pieces[id].length);
      }
      if (this.kinds[id] === USER_DEFINED && !this.pieces[id].includes('\0')) {
        symbols.push([this.pieces[id], id]);
      }
    }
    this.symbols = new ByteTrie(symbols);
  }

  /** The id of a text that an encoder can give: unused pieces are unknown. */
  usableId(text) {
    const id = this.idOfText.get(text);
    return id === undefined || this.kinds[id] === UNUSED ? this.unknown : id;
  }

  /** The id of the piece of each byte. */
  findByteIds() {
    const ids = new Array(256).fill(this.unknown);
    this.pieces.forEach((text, id) => {
      if (this.kinds[id] === BYTE) {
        ids[parseInt(text.slice(3, 5), 16)] = id;
      }
    });
    return ids;
  }

  /** The byte that a byte piece stands for. */
  byteOf(id) {
    return parseInt(this.pieces[id].slice(3, 5), 16);
  }

  buildNormalizer() {
    const spec = this.report.normalizer;
    const options = {
      addDummyPrefix: spec.add_dummy_prefix,
      removeExtraWhitespaces: spec.remove_extra_whitespaces,
      escapeWhitespaces: spec.escape_whitespaces,
      whitespaceAsSuffix: this.report.flags.treat_whitespace_as_suffix,
    };
    const charsmap = this.data.charsmap ? new Charsmap(bytesFromBase64(this.data.charsmap)) : null;
    return new Normalizer(options, charsmap, this.symbols);
  }
}

/** The kind of each piece from runs of equal kinds: kind, length, kind, length, ... */
function kindsFromRuns(runs, count) {
  const kinds = new Uint8Array(count);
  let id = 0;
  for (let at = 0; at < runs.length; at += 2) {
    kinds.fill(runs[at], id, id + runs[at + 1]);
    id += runs[at + 1];
  }
  return kinds;
}
