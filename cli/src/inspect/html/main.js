// Reads the data and fills the page.

/** What all parts of the page share: models, encoders, the panel and the tokens. */
const view = { models: [], encoders: [], details: null, tokens: null };

const SAMPLE =
  'All human beings are born free and equal in dignity and rights.\n' +
  'Tokenization: naïve café, 你好世界, Привет, 🙂 3.14159';

/** Fills the page. */
function start() {
  const data = JSON.parse(document.getElementById('data').textContent);
  view.models = data.models.map((model) => new Model(model));
  view.encoders = view.models.map((model) => new Encoder(model));
  const content = document.getElementById('details-content');
  view.details = new DetailsPanel(document.getElementById('details'), content, document.getElementById('close'));
  view.tokens = new TokenView(view.encoders, view.details);
  addSubtitle();
  document.getElementById('pair-note').hidden = view.models.length === 1;
  addComparison(data.comparison);
  addOverview();
  addVocabulary();
  addFindings();
  addText();
  addLanguages();
  addPieces();
  const input = document.getElementById('input');
  if (input.value === '') {
    input.value = SAMPLE;
  }
  view.tokens.update();
  document.documentElement.dataset.ready = 'true';
}

/** The names of the models below the title. */
function addSubtitle() {
  const subtitle = document.getElementById('subtitle');
  view.models.forEach(({ name, type, pieces }, side) => {
    const line = element('p', {});
    if (view.models.length > 1) {
      line.append(element('span', { class: `side side-${'AB'[side]}` }, 'AB'[side]), ' ');
    }
    line.append(visibleText(name), ` · ${type} · ${numberText(pieces.length)} pieces`);
    subtitle.append(line);
  });
}

// For tests: ids and boundaries of a Base64 text with a model.
window.spieceReport = {
  ids: (side, base64) => view.encoders[side].encode(byteString(bytesFromBase64(base64))).map((token) => token.id),
  boundaries: (side, base64) => {
    const bytes = byteString(bytesFromBase64(base64));
    return [...boundariesOf(view.encoders[side].encode(bytes), bytes.length)];
  },
};

start();
