// Unigram: the segmentation with the highest sum of scores, by Viterbi search over the positions of the text.
//
// Sums are 32-bit floats, added in the order of the reference: rounding decides between segmentations that are almost
// equal. The first of equal sums stays.

/** An unknown character has the lowest score of a normal piece minus this. */
const UNKNOWN_PENALTY = 10;
/** Above this magnitude the sum of a position is subtracted from all open sums. */
const MAX_SUM = 100000;
const MAX_FLOAT = 3.4028234663852886e38;

/** The pieces and scores of a unigram model, made once. */
class UnigramTables {
  constructor(model) {
    const keys = [];
    let lowest = MAX_FLOAT;
    this.scores = Float32Array.from(model.scores);
    for (let id = 0; id < model.pieces.length; id++) {
      if (model.kinds[id] === NORMAL) {
        lowest = Math.min(lowest, model.scores[id]);
      }
      if (model.kinds[id] === USER_DEFINED) {
        this.scores[id] = 0.1 * (model.pieces[id].length - 1);
      }
      if (model.isFromText(id) && model.kinds[id] !== UNUSED) {
        keys.push([model.pieces[id], id]);
      }
    }
    this.trie = new ByteTrie(keys);
    this.unknownScore = Math.fround(lowest - UNKNOWN_PENALTY);
  }
}

class UnigramSearch {
  /** The search for the best segmentation of a normalized text. */
  constructor(model, tables, text) {
    this.model = model;
    this.tables = tables;
    this.text = text;
    this.sums = new Float32Array(text.length + 1);
    // The length of the last piece of the best path to a position; 0 if none was found.
    this.lengths = new Int32Array(text.length + 1);
    this.ids = new Int32Array(text.length + 1);
    this.frontier = 0;
  }

  /** The tokens [id, start, end] of the best segmentation. */
  run() {
    for (let start = 0; start < this.text.length; start += charLength(this.text, start)) {
      this.offerPieces(start, this.rebasedSum(start));
    }
    const out = [];
    for (let end = this.text.length; end > 0; ) {
      const start = Math.max(0, end - Math.max(this.lengths[end], 1));
      out.push([this.ids[end], start, end]);
      end = start;
    }
    return out.reverse();
  }

  /** Offers all pieces that begin at a position, the shortest first; an unknown character last. */
  offerPieces(start, sum) {
    const { trie, scores, unknownScore } = this.tables;
    const width = charLength(this.text, start);
    let hasChar = false;
    let node = 0;
    for (let end = start; end < this.text.length; end++) {
      node = trie.child(node, this.text.charCodeAt(end));
      if (node < 0) {
        break;
      }
      const id = trie.values[node];
      if (id >= 0) {
        this.offer(start, end + 1, id, Math.fround(scores[id] + sum));
        hasChar = hasChar || end + 1 - start === width;
      }
    }
    if (!hasChar) {
      this.offer(start, start + width, this.model.unknown, Math.fround(unknownScore + sum));
    }
  }

  /** Keeps a path to `end` if it is the first or better. */
  offer(start, end, id, sum) {
    if (this.lengths[end] === 0 || sum > this.sums[end]) {
      this.sums[end] = sum;
      this.lengths[end] = end - start;
      this.ids[end] = id;
    }
    this.frontier = Math.max(this.frontier, end);
  }

  /** The sum of a position, after it was subtracted from all open sums if its magnitude is large. */
  rebasedSum(start) {
    const sum = this.sums[start];
    if (!(Math.abs(sum) > MAX_SUM)) {
      return sum;
    }
    this.sums[start] -= sum;
    for (let at = start + 1; at <= this.frontier; at++) {
      if (this.lengths[at] > 0) {
        this.sums[at] -= sum;
      }
    }
    return 0;
  }
}
