// Tables of the report: helpers that do not know what a report says.

/** The rows that a long table shows at first, and more with each press of its button. */
const FIRST_ROWS = 30;
const MORE_ROWS = 100;

/** A cell: numbers and {digits} are aligned to the right, a node or a string is inserted as it is. */
function tableCell(value) {
  if (typeof value === 'number') {
    return element('td', { class: 'number' }, numberText(value));
  }
  if (value.digits !== undefined) {
    return element('td', { class: 'number' }, value.digits);
  }
  return element('td', {}, value);
}

/** An id in a cell: no groups of digits. */
function idCell(id) {
  return element('span', { class: 'piece-id' }, String(id));
}

/** A row; its first cell is a heading if `hasHeading`. */
function tableRow(values, hasHeading) {
  const row = element('tr', {});
  values.forEach((value, at) => {
    const cell = tableCell(value);
    row.append(hasHeading && at === 0 ? element('th', { scope: 'row' }, ...cell.childNodes) : cell);
  });
  return row;
}

/**
 * A table with a caption. `rows` is a list of functions that give the cells, so that only rows that are shown are made.
 * `hasHeading` makes the first cell of each row a heading.
 */
function makeTable(caption, headings, rows, hasHeading) {
  const cells = headings.map((heading) => element('th', { scope: 'col' }, heading));
  const body = element('tbody', {});
  const table = element(
    'table',
    {},
    element('caption', {}, element('span', {}, caption)),
    element('thead', {}, element('tr', {}, ...cells)),
    body,
  );
  const frame = element('div', { class: 'table', role: 'region', 'aria-label': caption, tabindex: '0' }, table);
  let displayed = 0;
  const display = (count) => {
    rows.slice(displayed, displayed + count).forEach((row) => body.append(tableRow(row(), hasHeading)));
    displayed = Math.min(displayed + count, rows.length);
  };
  display(FIRST_ROWS);
  if (displayed < rows.length) {
    frame.append(moreButton(() => display(MORE_ROWS), () => rows.length - displayed));
  }
  return frame;
}

/** A button that shows more rows and disappears when there are none. */
function moreButton(displayMore, remaining) {
  const button = element('button', { type: 'button', class: 'more' }, '');
  const update = () => {
    button.textContent = `Show more (${numberText(remaining())} are hidden)`;
    button.hidden = remaining() === 0;
  };
  button.addEventListener('click', () => {
    displayMore();
    update();
  });
  update();
  return button;
}

/** A table of a name and one value for each model. */
function factsTable(caption, rows) {
  const headings = view.models.length > 1 ? ['', 'A', 'B'] : ['', ''];
  const functions = rows.map((row) => () => row);
  const frame = makeTable(caption, headings, functions, true);
  frame.classList.add('facts');
  if (view.models.length === 1) {
    frame.querySelector('thead').remove();
  }
  return frame;
}

/** A bar whose length is a share of the largest value. Styles that scripts set are allowed by the policy. */
function bar(value, largest) {
  const fill = element('span', {});
  fill.style.width = `${(100 * value) / Math.max(largest, 1e-9)}%`;
  return element('span', { class: 'bar', 'aria-hidden': 'true' }, fill);
}

/** The cell of a ratio. */
function ratioCell(value) {
  return { digits: value.toFixed(3) };
}

/** A percentage. */
function percent(share) {
  return `${(100 * share).toFixed(2)} %`;
}

/** A button with the text of a piece that shows the piece. */
function pieceButton(model, id) {
  const button = element('button', { type: 'button', class: 'piece' }, visibleNode(model.pieces[id]));
  button.addEventListener('click', () => view.details.displayPiece(model, id, button));
  return button;
}

/** Buttons of several pieces. */
function pieceButtons(model, ids) {
  return element('span', { class: 'pieces' }, ...ids.map((id) => pieceButton(model, id)));
}

/** A button that loads a text into the text box. */
function loadButton(text) {
  const button = element('button', { type: 'button', class: 'load' }, 'Tokenize');
  button.addEventListener('click', () => view.tokens.load(text));
  return button;
}
