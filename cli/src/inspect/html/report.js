// The sections of the report: what spiece inspect and spiece compare found, as tables.

/** Adds a section with a heading, and a link to it. */
function addSection(id, title, ...nodes) {
  const heading = element('h2', { id: `${id}-title` }, title);
  const section = element('section', { id, 'aria-labelledby': `${id}-title` }, heading, ...nodes);
  document.getElementById('report').append(section);
  document.getElementById('links').append(element('li', {}, element('a', { href: `#${id}` }, title)));
}

/** Nodes for each model; with two models each part has a heading. */
function forEachModel(make) {
  return view.models.flatMap((model, side) => {
    const nodes = make(model);
    return view.models.length > 1 ? [element('h3', {}, `Model ${'AB'[side]}`), ...nodes] : nodes;
  });
}

/** Names of the flags that are on. */
function flagNames(flags) {
  const names = Object.entries(flags).filter(([, value]) => value === true);
  return names.map(([name]) => name).join(', ') || 'none';
}

/** Name, type, size, special ids, flags and normalizer. */
function addOverview() {
  const row = (name, value) => [name, ...view.models.map(({ report }) => value(report))];
  const specials = (ids) => Object.entries(ids).map(([name, id]) => `${name} ${id === null ? 'none' : id}`);
  const asked = (report) => (report.has_trained_size ? '' : `; its trainer was asked for ${report.trainer_vocab_size}`);
  addSection(
    'overview',
    'Overview',
    factsTable('Model', [
      row('File', (report) => visibleText(report.model)),
      row('Type', (report) => report.model_type),
      row('Pieces', (report) => numberText(report.pieces) + asked(report)),
      row('Special ids', (report) => specials(report.special_ids).join(', ')),
      row('Flags', (report) => flagNames(report.flags)),
      row('Normalizer', (report) => visibleText(report.normalizer.name || 'without a name')),
      row('Its rules', (report) => (report.normalizer.has_rules ? 'yes' : 'none')),
      row('Its flags', (report) => flagNames(report.normalizer)),
      row('Scores', scoreRange),
      row('Score ties', (report) => tieText(report.scores)),
      row('Score order', (report) => orderText(report.scores)),
    ]),
  );
}

function scoreRange({ kinds, scores }) {
  const text = (score) => (score === null ? 'not finite' : String(score));
  return kinds.normal === 0 ? 'no normal pieces' : `${text(scores.lowest)} to ${text(scores.highest)}`;
}

function tieText(scores) {
  return scores.tied_scores === 0 ? 'none' : `${scores.tied_pieces} pieces share ${scores.tied_scores} scores`;
}

function orderText(scores) {
  const first = scores.first_inversion;
  return first === null
    ? 'ids are in the order of the scores'
    : `${scores.inversions} pieces have a higher score than the piece before, first ${first}`;
}

/** Pieces by kind, script and length; the longest and the unusual ones. */
function addVocabulary() {
  addSection('vocabulary', 'Vocabulary', ...forEachModel(vocabularyTables));
}

function vocabularyTables(model) {
  const { report } = model;
  const counts = (caption, heading, entries) => {
    const largest = Math.max(...entries.map(([, count]) => count), 1);
    const rows = entries.map(([name, count]) => () => [String(name), count, bar(count, largest)]);
    return makeTable(caption, [heading, 'Pieces', ''], rows, true);
  };
  const kinds = KIND_NAMES.map((name) => [name, report.kinds[name.replace('-', '_')]]).filter(([, count]) => count > 0);
  const scripts = report.scripts.map(({ script, pieces }) => [script, pieces]);
  const lengths = report.lengths.map(({ characters, pieces }) => [characters, pieces]);
  const longest = report.longest.map(({ id }) => () => [idCell(id), pieceButton(model, id)]);
  const grid = element(
    'div',
    { class: 'grid' },
    counts('Kinds', 'Kind', kinds),
    counts('Scripts', 'Script', scripts),
    counts('Lengths in characters', 'Length', lengths),
    makeTable('Longest pieces', ['Id', 'Piece'], longest, false),
  );
  return [grid, ...unusualTables(model)];
}

/** Pieces whose texts often cause trouble. */
function unusualTables(model) {
  const names = {
    with_space: 'Pieces with a space',
    with_nul: 'Pieces with a NUL',
    with_control_character: 'Pieces with a control character',
    not_utf8: 'Pieces that are not UTF-8',
    symbols_with_mark: 'User-defined symbols with a whitespace mark',
  };
  const lists = Object.entries(names).filter(([key]) => model.report.unusual[key].length > 0);
  return lists.map(([key, name]) => idTable(model, name, model.report.unusual[key]));
}

/** A table of ids with their pieces. */
function idTable(model, name, ids) {
  const rows = ids.map((id) => () => [idCell(id), pieceButton(model, id)]);
  return makeTable(`${name}: ${numberText(ids.length)}`, ['Id', 'Piece'], rows, false);
}

/** Unreachable pieces, and pieces that the normalizer never produces. */
function addFindings() {
  addSection('findings', 'Pieces that text never gives', ...forEachModel(findingTables));
}

function findingTables(model) {
  const { report, data } = model;
  const nodes = [unreachableTable(model, data)];
  if (report.never_normalized.length > 0) {
    nodes.push(idTable(model, 'Never produced by the normalizer', report.never_normalized));
  }
  if (report.normalization_undecided.length > 0) {
    nodes.push(idTable(model, 'Perhaps never produced by the normalizer', report.normalization_undecided));
  }
  return nodes;
}

function unreachableTable(model, data) {
  if (data.unreachable_count === 0) {
    return element('p', {}, 'Every piece for text is reachable: its own text is encoded with it.');
  }
  const rows = data.unreachable.map(([id, isClose, count, ...winner]) => () => {
    const winners = pieceButtons(model, winner);
    if (count > winner.length) {
      winners.append(` and ${count - winner.length} more`);
    }
    return [idCell(id), pieceButton(model, id), winners, isClose ? 'within rounding' : ''];
  });
  const hidden = data.unreachable_count - data.unreachable.length;
  const more = hidden > 0 ? `; the first ${data.unreachable.length} are listed, --format=json lists all` : '';
  const caption = `Unreachable pieces: ${numberText(data.unreachable_count)}${more}`;
  return makeTable(caption, ['Id', 'Piece', 'Its text gives', 'Note'], rows, false);
}

/** What the texts of --text cost. */
function addText() {
  const { text } = view.models[0].report;
  if (!text) {
    return;
  }
  const words = text.fragmented_words.map((word) => () => [
    visibleText(word.word),
    word.tokens,
    word.bytes,
    loadButton(word.word),
  ]);
  addSection(
    'text',
    'Text',
    fileTable(text.files),
    textFacts(text),
    makeTable('Most fragmented words', ['Word', 'Tokens', 'Bytes', ''], words, false),
    lineTable('Lines with the most tokens for each byte', text.dense_lines),
    lineTable('Lines with the fewest tokens for each byte', text.sparse_lines),
    lineTable('Lines with the most tokens', text.long_lines),
  );
}

function fileTable(files) {
  const rows = files.map((file) => () => [
    visibleText(file.file),
    file.lines,
    file.bytes,
    file.tokens,
    ratioCell(file.tokens ? file.bytes / file.tokens : 0),
  ]);
  return makeTable('Files', ['File', 'Lines', 'Bytes', 'Tokens', 'Bytes per token'], rows, false);
}

function textFacts(text) {
  const ratio = (name, key) => [name, text[key].toFixed(3)];
  const renyi = (value) => (value === null ? 'none' : value.toFixed(4));
  return makeTable(
    'Costs',
    ['', ''],
    [
      ['Tokens', numberText(text.tokens)],
      ['Words', numberText(text.words)],
      ratio('Bytes per token', 'bytes_per_token'),
      ratio('Characters per token', 'characters_per_token'),
      ratio('Words per token', 'words_per_token'),
      ratio('Tokens per word', 'tokens_per_word'),
      ['Byte tokens', `${numberText(text.byte_tokens)} (${percent(text.byte_token_share)})`],
      ['Unknown tokens', `${numberText(text.unknown_tokens)} (${percent(text.unknown_token_share)})`],
      ['Pieces used', `${numberText(text.pieces_used)} (${percent(text.pieces_used_share)})`],
      [`Rényi efficiency ${text.renyi.alpha}, pieces used`, renyi(text.renyi.efficiency_observed)],
      [`Rényi efficiency ${text.renyi.alpha}, all pieces`, renyi(text.renyi.efficiency_full)],
    ].map((row) => () => row),
    true,
  );
}

function lineTable(caption, lines) {
  const rows = lines.map((line) => () => [
    visibleText(`${line.file}:${line.line}`),
    line.tokens,
    line.bytes,
    visibleText(line.text),
    loadButton(line.text),
  ]);
  return makeTable(caption, ['Line', 'Tokens', 'Bytes', 'Text', ''], rows, false);
}

/** What the languages of --languages cost. */
function addLanguages() {
  const { languages } = view.models[0].report;
  if (!languages) {
    return;
  }
  const largest = Math.max(...languages.map((language) => language.relative_tokens));
  const rows = languages.map((language) => () => [
    language.name,
    ratioCell(language.relative_tokens),
    bar(language.relative_tokens, largest),
    language.tokens,
    ratioCell(language.bytes_per_token),
    { digits: percent(language.byte_token_share) },
    { digits: percent(language.unknown_token_share) },
  ]);
  const headings = ['Language', 'Relative', '', 'Tokens', 'Bytes each', 'Byte tokens', 'Unknown'];
  const caption = 'Universal Declaration of Human Rights, tokens relative to English';
  addSection('languages', 'Languages', makeTable(caption, headings, rows, true));
}

/** Where two models differ. */
function addComparison(comparison) {
  if (!comparison) {
    return;
  }
  const { vocabulary } = comparison;
  const [a] = view.models;
  const changes = vocabulary.first_changes.map((change) => () => [
    pieceButton(a, change.a),
    idCell(change.a),
    idCell(change.b),
  ]);
  const nodes = [vocabularyChanges(vocabulary)];
  if (changes.length > 0) {
    nodes.push(makeTable('First changed ids', ['Piece', 'A', 'B'], changes, false));
  }
  if (comparison.files.length > 0) {
    nodes.push(...comparedText(comparison));
  }
  addSection('comparison', 'Comparison', ...nodes);
}

function vocabularyChanges(vocabulary) {
  const rows = [
    ['Pieces of A', vocabulary.pieces_a],
    ['Pieces of B', vocabulary.pieces_b],
    ['Shared pieces (same text and kind)', vocabulary.shared],
    ['Shared pieces with other ids', vocabulary.changed_ids],
    ['Shared pieces with other scores', vocabulary.changed_scores],
  ];
  return makeTable('Vocabularies', ['', 'Pieces'], rows.map((row) => () => row), true);
}

/** Lines, tokens and boundaries of the texts, and the lines that differ most. */
function comparedText(comparison) {
  const files = comparison.files.map((file) => () => [
    visibleText(file.file),
    file.lines,
    file.equal_lines,
    file.tokens_a,
    file.tokens_b,
  ]);
  const sums = [
    ['Lines', comparison.lines],
    ['Lines with equal ids', comparison.equal_lines],
    ['Tokens of A', comparison.tokens_a],
    ['Tokens of B', comparison.tokens_b],
    ['Lines on which A has fewer tokens', comparison.shorter_a],
    ['Lines on which B has fewer tokens', comparison.shorter_b],
    ['Shared boundaries', comparison.shared_boundaries],
    ['Boundaries only in A', comparison.boundaries_only_a],
    ['Boundaries only in B', comparison.boundaries_only_b],
  ];
  const lines = comparison.worst_lines.map((line) => () => [
    visibleText(`${line.file}:${line.line}`),
    line.tokens_a,
    line.tokens_b,
    visibleText(line.text),
    loadButton(line.text),
  ]);
  return [
    makeTable('Files', ['File', 'Lines', 'Equal lines', 'Tokens of A', 'Tokens of B'], files, false),
    makeTable('Sums', ['', 'Number'], sums.map((row) => () => row), true),
    makeTable('Lines that differ most', ['Line', 'A', 'B', 'Text', ''], lines, false),
  ];
}

/** All pieces, with a search by text or id. */
function addPieces() {
  addSection('pieces', 'Pieces', ...forEachModel(pieceSearch));
}

function pieceSearch(model) {
  const input = element('input', { type: 'search', autocomplete: 'off', spellcheck: 'false' });
  const label = element('label', { class: 'search' }, 'Part of a piece, or an id ', input);
  const result = element('div', {});
  const update = () => {
    const ids = findPieces(model, input.value);
    const rows = ids.map((id) => () => [
      idCell(id),
      pieceButton(model, id),
      KIND_NAMES[model.kinds[id]],
      floatText(model.scores[id]),
    ]);
    const caption = `Pieces: ${numberText(ids.length)}`;
    replaceChildren(result, makeTable(caption, ['Id', 'Piece', 'Kind', 'Score'], rows, false));
  };
  input.addEventListener('input', update);
  update();
  return [label, result];
}

/** The ids of the pieces that contain a text; a space finds whitespace marks. A number finds the id first. */
function findPieces(model, query) {
  const text = byteStringOfText(query.replaceAll(' ', '\u2581'));
  const ids = [];
  if (/^\d+$/.test(query) && Number(query) < model.pieces.length) {
    ids.push(Number(query));
  }
  model.pieces.forEach((piece, id) => {
    if (piece.includes(text) && id !== ids[0]) {
      ids.push(id);
    }
  });
  return ids;
}
