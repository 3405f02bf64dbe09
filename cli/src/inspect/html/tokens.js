// The text box and the tokens of what is typed.
//
// The tokens are one list box with one tab stop: the arrow keys move through tokens and lines, and the token that has the
// focus is the selected one. With two models each line has two rows, and boundaries that only one model has are marked.

/** The longest text that is tokenized. More would make typing slow. */
const MAX_INPUT_BYTES = 100000;
/** The tokens that are drawn for each model; the others are counted. */
const MAX_DRAWN_TOKENS = 4000;
const COLOURS = 6;
/** Milliseconds from the last key to the tokens, unless tokenizing takes longer. */
const TYPING_PAUSE = 60;

/** The boundaries of tokens inside a line, in bytes. */
function boundariesOf(tokens, lineLength) {
  const ends = tokens.map((token) => token.end);
  return new Set(ends.filter((end) => end > 0 && end < lineLength));
}

class TokenView {
  constructor(encoders, details) {
    this.encoders = encoders;
    this.details = details;
    this.input = document.getElementById('input');
    this.output = document.getElementById('tokens');
    this.duration = 0;
    this.isJoined = document.getElementById('joined');
    this.input.addEventListener('input', () => this.schedule());
    this.isJoined.addEventListener('change', () => this.update());
    this.output.addEventListener('keydown', (event) => this.onKey(event));
    this.output.addEventListener('click', (event) => this.onClick(event));
  }

  /** Puts a text into the box and moves there. */
  load(text) {
    this.input.value = text;
    this.update();
    this.input.focus();
    this.input.scrollIntoView({ block: 'center' });
  }

  /** Tokenizes after a pause of typing, which is as long as tokenizing took, so that long texts can be typed, too. */
  schedule() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.timedUpdate(), Math.max(TYPING_PAUSE, this.duration));
  }

  timedUpdate() {
    const start = performance.now();
    this.update();
    this.duration = performance.now() - start;
  }

  /** Tokenizes the text and draws the tokens. */
  update() {
    const text = this.input.value;
    const size = utf8Encoder.encode(text).length;
    const message = document.getElementById('input-message');
    if (size > MAX_INPUT_BYTES) {
      message.textContent =
        `The text has ${numberText(size)} bytes. This page tokenizes at most ` +
        `${numberText(MAX_INPUT_BYTES)}; use spiece encode for longer texts.`;
      this.draw([]);
      return;
    }
    message.textContent = '';
    const lines = this.isJoined.checked ? [text] : text.replace(/\n$/, '').split('\n');
    this.draw(text === '' ? [] : lines.map((line) => this.encodeLine(byteStringOfText(line))));
  }

  /** The tokens of a line for each model, and the boundaries that only this model has. */
  encodeLine(bytes) {
    const results = this.encoders.map((encoder) => encoder.encode(bytes));
    const boundaries = results.map((tokens) => boundariesOf(tokens, bytes.length));
    const rows = results.map((tokens, side) => {
      const others = boundaries.length > 1 ? boundaries[1 - side] : boundaries[0];
      return { tokens, own: new Set([...boundaries[side]].filter((end) => !others.has(end))) };
    });
    return { bytes: bytes.length, characters: countChars(bytes), rows };
  }

  draw(lines) {
    this.rows = [];
    this.tokens = [];
    replaceChildren(this.output);
    const drawn = this.encoders.map(() => 0);
    lines.forEach((line, number) => {
      line.rows.forEach((row, side) => {
        const room = MAX_DRAWN_TOKENS - drawn[side];
        drawn[side] += row.tokens.length;
        if (room > 0) {
          this.drawRow(row, { number: number + 1, side, room });
        }
      });
    });
    if (this.tokens.length > 0) {
      this.tokens[0].node.tabIndex = 0;
    }
    this.drawCounts(lines);
    this.drawIds(lines);
  }

  /** Draws the tokens of a line of one model. */
  drawRow(row, context) {
    const isPair = this.encoders.length > 1;
    const name = 'AB'[context.side];
    const label = isPair ? `Line ${context.number}, model ${name}` : `Line ${context.number}`;
    const group = element('div', { class: 'row', role: 'group', 'aria-label': label });
    if (isPair) {
      group.append(element('span', { class: `side side-${name}`, 'aria-hidden': 'true' }, name));
    }
    const first = this.tokens.length;
    row.tokens.slice(0, context.room).forEach((token, at) => {
      const next = row.tokens[at + 1];
      const isOwn = row.own.has(token.end) && !(next && next.end === token.end);
      group.append(this.drawToken(token, at, { side: context.side, isOwn }));
    });
    if (row.tokens.length === 0) {
      group.append(element('span', { class: 'note' }, 'no tokens'));
    } else {
      this.rows.push({ first, last: this.tokens.length - 1 });
    }
    this.output.append(group);
  }

  drawToken(token, at, context) {
    const model = this.encoders[context.side].model;
    const classes = ['token', `colour-${at % COLOURS}`, `kind-${token.kind}`];
    if (context.isOwn) {
      classes.push('own-boundary');
    }
    const node = element('span', {
      class: classes.join(' '),
      role: 'option',
      tabindex: '-1',
      'aria-selected': 'false',
      'data-token': String(this.tokens.length),
    });
    const isPiece = token.kind === 'piece';
    const text = isPiece ? model.pieces[token.id] : token.text;
    const content = token.kind === 'byte' ? byteNode(text) : visibleNode(text);
    node.append(content, element('span', { class: 'id' }, String(token.id)));
    if (context.isOwn) {
      node.append(element('span', { class: 'hidden' }, ` boundary only in ${'AB'[context.side]}`));
    }
    this.tokens.push({ node, token, model });
    return node;
  }

  /** Numbers of tokens, bytes and characters. */
  drawCounts(lines) {
    const sum = (values) => values.reduce((total, value) => total + value, 0);
    const bytes = sum(lines.map((line) => line.bytes));
    const parts = this.encoders.map((_, side) => {
      const tokens = sum(lines.map((line) => line.rows[side].tokens.length));
      const name = this.encoders.length > 1 ? `${'AB'[side]}: ` : '';
      const ratio = tokens > 0 ? `, ${(bytes / tokens).toFixed(2)} bytes each` : '';
      const hidden = tokens > MAX_DRAWN_TOKENS ? `, the first ${numberText(MAX_DRAWN_TOKENS)} are shown` : '';
      return `${name}${numberText(tokens)} tokens${ratio}${hidden}`;
    });
    if (this.encoders.length > 1) {
      const own = (side) => sum(lines.map((line) => line.rows[side].own.size));
      parts.push(`boundaries only in A: ${own(0)}, only in B: ${own(1)}`);
    }
    const characters = sum(lines.map((line) => line.characters));
    const size = `${numberText(bytes)} bytes, ${numberText(characters)} characters`;
    document.getElementById('counts').textContent = [...parts, size].join(' · ');
  }

  /** The ids as text, a line for each line. */
  drawIds(lines) {
    const ids = this.encoders.map((_, side) => {
      const rows = lines.map((line) => line.rows[side].tokens.map((token) => token.id).join(' '));
      const name = this.encoders.length > 1 ? `${'AB'[side]}:\n` : '';
      return name + rows.join('\n');
    });
    document.getElementById('ids').value = ids.join('\n');
  }

  onClick(event) {
    const node = event.target.closest('.token');
    if (node) {
      this.select(Number(node.dataset.token));
    }
  }

  /** Selects a token: it gets the focus, and the panel shows it. */
  select(at) {
    const found = this.tokens[at];
    for (const { node } of this.tokens.filter((other) => other.node.tabIndex === 0)) {
      node.tabIndex = -1;
      node.setAttribute('aria-selected', 'false');
    }
    found.node.tabIndex = 0;
    found.node.setAttribute('aria-selected', 'true');
    found.node.focus();
    this.details.display(found.model, found.token, found.node);
  }

  onKey(event) {
    const at = this.tokens.findIndex(({ node }) => node === document.activeElement);
    const target = at < 0 ? -1 : this.targetOf(event.key, at);
    if (target >= 0 && target < this.tokens.length) {
      event.preventDefault();
      this.select(target);
    }
    if (event.key === 'Escape') {
      this.details.close();
    }
  }

  /** The token that a key moves to; -1 for other keys. */
  targetOf(key, at) {
    switch (key) {
      case 'ArrowRight':
        return at + 1;
      case 'ArrowLeft':
        return at - 1;
      case 'ArrowDown':
        return this.inRow(at, 1);
      case 'ArrowUp':
        return this.inRow(at, -1);
      case 'Home':
        return 0;
      case 'End':
        return this.tokens.length - 1;
      case 'Enter':
      case ' ':
        return at;
      default:
        return -1;
    }
  }

  /** The token at the same position in a neighbouring row. */
  inRow(at, step) {
    const current = this.rows.findIndex((row) => at >= row.first && at <= row.last);
    const row = this.rows[current + step];
    if (!row) {
      return -1;
    }
    return Math.min(row.first + at - this.rows[current].first, row.last);
  }
}
