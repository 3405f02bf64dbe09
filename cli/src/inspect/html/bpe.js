// BPE: adjacent symbols merge, the pair whose piece has the highest score first, of equal scores the leftmost.
//
// The symbols are nodes of a linked list, and the candidates wait in a heap, so a text of n characters takes n log n steps.
// A candidate that another merge has overtaken is recognized when it is popped: its node has another merge by then.

/** Levels of resegmentation after which an unused piece is given as it is. */
const MAX_RESEGMENT_DEPTH = 100;

/** Scores are compared as the reference does: in the total order of their bits, -0 below 0 and NaN at the ends. */
function scoreOrder(bits) {
  return bits < 0 ? bits ^ 0x7fffffff : bits;
}

/** A binary heap of candidates {order, left, id}, the next merge on top. */
class MergeHeap {
  constructor() {
    this.items = [];
  }

  /** Whether a candidate merges before another. */
  isBefore(a, b) {
    return a.order > b.order || (a.order === b.order && a.left < b.left);
  }

  push(item) {
    const items = this.items;
    let at = items.push(item) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.isBefore(item, items[parent])) {
        break;
      }
      items[at] = items[parent];
      at = parent;
    }
    items[at] = item;
  }

  /** Removes the next merge; undefined if there is none. */
  pop() {
    const items = this.items;
    const top = items[0];
    const last = items.pop();
    if (items.length > 0) {
      this.sink(last);
    }
    return top;
  }

  /** Puts an item from the top to its position. */
  sink(item) {
    const items = this.items;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= items.length) {
        break;
      }
      if (child + 1 < items.length && this.isBefore(items[child + 1], items[child])) {
        child++;
      }
      if (!this.isBefore(items[child], item)) {
        break;
      }
      items[at] = items[child];
      at = child;
    }
    items[at] = item;
  }
}

class BpeMerge {
  /**
   * The merges of a normalized text. `onMerge(left, right, id)` is called with the nodes and the resulting piece before
   * each merge; nodes are numbers, and the joined symbol keeps the number `left`.
   */
  constructor(model, text, onMerge) {
    this.model = model;
    this.text = text;
    this.onMerge = onMerge;
    this.heap = new MergeHeap();
    // For each unused piece the length of its left part when it was last a candidate.
    this.unusedParts = new Map();
    this.readSymbols();
  }

  /** Makes nodes of the characters and user-defined symbols. */
  readSymbols() {
    const { model, text } = this;
    this.starts = [];
    this.ends = [];
    this.symbolIds = [];
    for (let at = 0; at < text.length; ) {
      const symbol = model.symbols.longest(text, at);
      const length = symbol ? symbol.length : charLength(text, at);
      this.starts.push(at);
      this.ends.push(at + length);
      this.symbolIds.push(symbol ? symbol.value : -1);
      at += length;
    }
    const count = this.starts.length;
    this.next = Int32Array.from({ length: count }, (_, node) => (node + 1 < count ? node + 1 : -1));
    this.previous = Int32Array.from({ length: count }, (_, node) => node - 1);
    // The piece that a node and the next one merge to; -1 if they do not.
    this.merges = new Int32Array(count).fill(-1);
  }

  /** Merges until no pair merges. */
  run() {
    for (let node = 0; node < this.starts.length; node++) {
      this.addCandidate(node);
    }
    for (let best = this.heap.pop(); best; best = this.heap.pop()) {
      if (this.merges[best.left] !== best.id) {
        continue;
      }
      this.merge(best.left, best.id);
    }
    return this;
  }

  /** Looks up what a node and the next one merge to. */
  addCandidate(left) {
    this.merges[left] = -1;
    const right = this.next[left];
    if (right < 0 || this.symbolIds[left] >= 0 || this.symbolIds[right] >= 0) {
      return;
    }
    if (this.ends[right] - this.starts[left] > this.model.maxPieceLength) {
      return;
    }
    const id = this.model.idOfText.get(this.text.slice(this.starts[left], this.ends[right]));
    if (id === undefined) {
      return;
    }
    if (this.model.kinds[id] === UNUSED) {
      this.unusedParts.set(id, this.ends[left] - this.starts[left]);
    }
    this.merges[left] = id;
    this.heap.push({ order: scoreOrder(this.model.scoreBits[id]), left, id });
  }

  /** Joins a node and the next one. */
  merge(left, id) {
    const right = this.next[left];
    if (this.onMerge) {
      this.onMerge(left, right, id);
    }
    this.ends[left] = this.ends[right];
    this.merges[right] = -1;
    this.next[left] = this.next[right];
    if (this.next[left] >= 0) {
      this.previous[this.next[left]] = left;
    }
    if (this.previous[left] >= 0) {
      this.addCandidate(this.previous[left]);
    }
    this.addCandidate(left);
  }

  /** The tokens [id, start, end] of the symbols that remain. */
  tokens() {
    const out = [];
    for (let node = this.starts.length ? 0 : -1; node >= 0; node = this.next[node]) {
      if (this.symbolIds[node] >= 0) {
        out.push([this.symbolIds[node], this.starts[node], this.ends[node]]);
      } else {
        this.resegment(this.starts[node], this.ends[node], 0, out);
      }
    }
    return out;
  }

  /** Appends the token of a span, or if its piece is unused, the tokens of its parts. */
  resegment(start, end, depth, out) {
    const { model } = this;
    const id = model.idOfText.get(this.text.slice(start, end));
    if (id === undefined) {
      out.push([model.unknown, start, end]);
    } else if (depth > MAX_RESEGMENT_DEPTH || model.kinds[id] !== UNUSED) {
      out.push([id, start, end]);
    } else if (this.unusedParts.has(id)) {
      const middle = start + this.unusedParts.get(id);
      this.resegment(start, middle, depth + 1, out);
      this.resegment(middle, end, depth + 1, out);
    } else {
      out.push([model.unknown, start, end]);
    }
  }
}

/**
 * How BPE makes the piece `id`: {roots, steps}. A node of the tree is {id, start, end, parts}; `id` is -1 if a symbol is
 * no piece. One root means that the text of the piece gives the piece.
 */
function mergeTree(model, id) {
  const text = model.pieces[id];
  const nodes = [];
  const steps = [];
  const join = (left, right, merged) => {
    const parts = [nodes[left], nodes[right]];
    const node = { id: merged, start: parts[0].start, end: parts[1].end, parts };
    steps.push(node);
    nodes[left] = node;
  };
  const merge = new BpeMerge(model, text, join);
  for (let node = 0; node < merge.starts.length; node++) {
    const start = merge.starts[node];
    const end = merge.ends[node];
    const known = model.idOfText.get(text.slice(start, end));
    nodes.push({ id: known === undefined ? -1 : known, start, end, parts: [] });
  }
  merge.run();
  const roots = [];
  for (let node = nodes.length ? 0 : -1; node >= 0; node = merge.next[node]) {
    roots.push(nodes[node]);
  }
  return { text, roots, steps };
}
