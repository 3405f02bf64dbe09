// The panel with the selected token or piece: id, bytes, score, kind, and how merges make it.

/** Trees of more nodes are not shown; they belong to pieces of hundreds of characters. */
const MAX_TREE_NODES = 400;

class DetailsPanel {
  /** A panel that fills this element and opens and closes with its class. */
  constructor(panel, content, closeButton) {
    this.panel = panel;
    this.content = content;
    closeButton.addEventListener('click', () => this.close());
    panel.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') {
        this.close();
      }
    });
  }

  close() {
    this.panel.classList.remove('open');
    if (this.opener && this.panel.contains(document.activeElement)) {
      this.opener.focus();
    }
  }

  /** Displays a piece of a model. `opener` is the element that gets the focus back. */
  displayPiece(model, id, opener) {
    const text = model.pieces[id];
    this.display(model, { id, kind: 'piece', text }, opener);
  }

  /** Displays a token; one from the text box has a span, too. */
  display(model, token, opener) {
    this.opener = opener;
    const text = token.kind === 'unknown' ? token.text : model.pieces[token.id];
    const nodes = [element('p', { class: 'big' }, visibleNode(text)), this.facts(model, token, text)];
    nodes.push(...this.origin(model, token));
    replaceChildren(this.content, ...nodes);
    this.panel.classList.add('open');
  }

  /** Id, kind, score and bytes. */
  facts(model, token, text) {
    const list = element('dl', {});
    const add = (name, value) => list.append(element('dt', {}, name), element('dd', {}, value));
    add('Id', token.id < 0 ? 'none' : String(token.id));
    add('Kind', token.id < 0 ? 'unknown' : KIND_NAMES[model.kinds[token.id]]);
    add('Score', token.id < 0 ? 'none' : floatText(model.scores[token.id]));
    add('Bytes', element('code', {}, hexText(text)));
    add('Length', `${countChars(text)} characters, ${text.length} bytes`);
    if (token.kind === 'byte') {
      add('Byte', byteNode(token.text));
      add('Part of', visibleNode(token.char));
    }
    if (token.start !== undefined) {
      add('Span', `bytes ${token.start} to ${token.end} of the line`);
    }
    if (view.models.length > 1) {
      add('Model', model === view.models[0] ? 'A' : 'B');
    }
    return list;
  }

  /** How the model comes to give the piece. */
  origin(model, token) {
    const heading = (text) => element('h3', {}, text);
    const note = (text) => element('p', { class: 'note' }, text);
    if (token.kind === 'unknown') {
      return [note('Unknown text: no piece covers it.')];
    }
    switch (model.kinds[token.id]) {
      case NORMAL:
      case UNUSED:
        break;
      case USER_DEFINED:
        return [note('A user-defined symbol: it is cut out of the text before everything else.')];
      case BYTE:
        return [note('A byte piece: it stands for one byte of a character that is no piece.')];
      default:
        return [note('Text never gives this piece.')];
    }
    if (model.type === 'bpe') {
      return [heading('Merge tree'), ...mergeTreeNodes(model, token.id)];
    }
    return [note(originNote(model.type))];
  }
}

/** What a score means, for models without merges. */
function originNote(type) {
  switch (type) {
    case 'unigram':
      return 'A unigram model has no merges: the segmentation with the highest sum of scores is given.';
    case 'word':
      return 'A word model gives whole words.';
    default:
      return 'A char model gives single characters.';
  }
}

/** The merge tree of a piece as nested lists. */
function mergeTreeNodes(model, id) {
  const { text, roots, steps } = mergeTree(model, id);
  if (countChars(text) + steps.length > MAX_TREE_NODES) {
    return [element('p', { class: 'note' }, `Too long to be shown: ${steps.length} merges.`)];
  }
  const nodes = [];
  if (roots.length > 1) {
    nodes.push(element('p', { class: 'note' }, 'Unreachable: the merges of its text end in several pieces.'));
  } else if (steps.length === 0) {
    nodes.push(element('p', { class: 'note' }, 'A single character: no merges.'));
  }
  const list = element('ul', { class: 'tree' });
  for (const root of roots) {
    list.append(treeItem(model, text, root, steps));
  }
  nodes.push(list);
  return nodes;
}

/** A node of the tree with its parts. */
function treeItem(model, text, node, steps) {
  const label = element('span', { class: 'node' }, visibleNode(text.slice(node.start, node.end)));
  label.append(element('span', { class: 'id' }, node.id < 0 ? 'no piece' : String(node.id)));
  if (node.parts.length > 0) {
    const step = steps.indexOf(node) + 1;
    const score = floatText(model.scores[node.id]);
    label.append(element('span', { class: 'step' }, `merge ${step}, score ${score}`));
  }
  const item = element('li', {}, label);
  if (node.parts.length > 0) {
    item.append(element('ul', {}, ...node.parts.map((part) => treeItem(model, text, part, steps))));
  }
  return item;
}
