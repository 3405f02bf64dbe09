// Sets of byte strings with values, for the search of the keys that a text begins with.
//
// A node is a number; its child by a byte is found in a hash table with open addressing, in typed arrays, so that the
// 250,000 pieces of the largest models take some megabytes.

/** The reference considers at most this many symbols that match at one position, the shortest first. */
const MAX_SYMBOL_MATCHES = 64;

class ByteTrie {
  /** A trie of keys, given as [key, value]; values are not negative. */
  constructor(entries) {
    let maxNodes = 1;
    for (const [key] of entries) {
      maxNodes += key.length;
    }
    let capacity = 16;
    while (capacity < 2 * maxNodes) {
      capacity *= 2;
    }
    this.mask = capacity - 1;
    // Number of the node times 256 plus the byte; -1 in free cells. Doubles hold more than 32 bits.
    this.edges = new Float64Array(capacity).fill(-1);
    this.children = new Int32Array(capacity);
    this.values = new Int32Array(maxNodes).fill(-1);
    this.nodeCount = 1;
    this.isEmpty = entries.length === 0;
    for (const [key, value] of entries) {
      this.add(key, value);
    }
  }

  /** Adds a key. */
  add(key, value) {
    let node = 0;
    for (let at = 0; at < key.length; at++) {
      const cell = this.cell(node, key.charCodeAt(at));
      if (this.edges[cell] < 0) {
        this.edges[cell] = node * 256 + key.charCodeAt(at);
        this.children[cell] = this.nodeCount++;
      }
      node = this.children[cell];
    }
    this.values[node] = value;
  }

  /** The cell of an edge, or the free cell where it belongs. */
  cell(node, byte) {
    const edge = node * 256 + byte;
    let cell = (Math.imul(edge, 0x9e3779b1) >>> 7) & this.mask;
    while (this.edges[cell] >= 0 && this.edges[cell] !== edge) {
      cell = (cell + 1) & this.mask;
    }
    return cell;
  }

  /** The child of a node by a byte; -1 if there is none. */
  child(node, byte) {
    const cell = this.cell(node, byte);
    return this.edges[cell] < 0 ? -1 : this.children[cell];
  }

  /** The longest key at a position of a text, as {length, value}; null if there is none. */
  longest(text, at) {
    let found = null;
    let matches = 0;
    let node = 0;
    for (let end = at; end < text.length && matches < MAX_SYMBOL_MATCHES; end++) {
      node = this.child(node, text.charCodeAt(end));
      if (node < 0) {
        break;
      }
      if (this.values[node] >= 0) {
        found = { length: end + 1 - at, value: this.values[node] };
        matches++;
      }
    }
    return found;
  }
}
