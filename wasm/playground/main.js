// The page: the tokenizers that are open, the text, and what each of them makes of it.

import { Details } from "./details.js";
import { load, loadVocabAndMerges } from "./spiece/train.js";
import { boundariesOf, TokenList } from "./tokens.js";
import { startTraining } from "./training.js";
import { element, numberText } from "./visible.js";

const SAMPLE =
  "All human beings are born free and equal in dignity and rights.\n" +
  "Tokenization: naïve café, 你好世界, Привет, 🙂 3.14159\n";
/** Files beside the page, so that there is something to begin with. */
const EXAMPLES = ["llama2.model", "unigram.model", "bytes.json"];
const PATTERNS = ["gpt2", "cl100k", "o200k", "llama3", "qwen2", "kimi", "tekken", "rustbpe", "nanochat",
  "llama3-place-digits", "o200k-place-digits"];
/** Longer texts are counted whole, but only their start is drawn and can be edited. */
const MAX_DRAWN = 20_000;
/** Milliseconds from the last key to the tokens. */
const TYPING_PAUSE = 80;

const byId = (id) => document.getElementById(id);
const input = byId("text");
const details = new Details(byId("details"), byId("details-content"), byId("close"));
const utf8 = new TextEncoder();
const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

/** The open tokenizers: {name, tokenizer, withSpecial, list}. */
const open = [];
/** A text that is too long for the box, with the name of its file. */
let longText = null;

const currentText = () => longText?.text ?? input.value;

function say(message) {
  byId("message").textContent = message;
}

/** Adds a tokenizer, and draws everything again. */
function add(name, tokenizer) {
  const list = new TokenList(details);
  open.push({ name, tokenizer, withSpecial: tokenizer.withOptions({ allowedSpecial: "all" }), list });
  update();
}

function remove(entry) {
  open.splice(open.indexOf(entry), 1);
  entry.withSpecial.free();
  entry.tokenizer.free();
  details.close();
  update();
}

/** Opens files as tokenizers; what is none and is text becomes the text. */
async function openFiles(files) {
  say("");
  const contents = await Promise.all(files.map(async (file) => [file.name, new Uint8Array(await file.arrayBuffer())]));
  const options = byId("pattern").value.trim() === "" ? {} : { pattern: byId("pattern").value.trim() };
  const isVocab = ([name]) => /^(vocab|encoder)\.json$|-vocab\.json$/.test(name);
  const isMerges = ([name]) => /^(merges\.txt|vocab\.bpe)$|-merges\.txt$/.test(name);
  const pair = [contents.find(isVocab), contents.find(isMerges)];
  const messages = [];
  if (pair[0] && pair[1]) {
    try {
      add(pair.map(([name]) => name).join(" + "), await loadVocabAndMerges(pair[0][1], pair[1][1], options));
    } catch (error) {
      messages.push(`${pair[0][0]}: ${error.message}`);
    }
  }
  for (const [name, bytes] of contents) {
    if (pair[0] && pair[1] && pair.some((file) => file[0] === name)) continue;
    try {
      add(name, await load(bytes, options));
    } catch (error) {
      if (/\.(txt|md|csv|html?|py|rs|js|c|java|log)$/i.test(name) && openText(name, bytes)) continue;
      messages.push(`${name}: ${error.message}`);
    }
  }
  say(messages.join("\n"));
}

/** Takes bytes as the text, if they are UTF-8. */
function openText(name, bytes) {
  let text;
  try {
    text = strictUtf8.decode(bytes);
  } catch {
    return false;
  }
  longText = text.length > MAX_DRAWN ? { name, text } : null;
  input.value = longText ? sliceOfWholeCharacters(text) : text;
  input.readOnly = longText !== null;
  update();
  return true;
}

function sliceOfWholeCharacters(text) {
  const isSplit = /[\ud800-\udbff]/.test(text[MAX_DRAWN - 1]);
  return text.slice(0, isSplit ? MAX_DRAWN - 1 : MAX_DRAWN);
}

/** Encodes with every tokenizer and draws the table and the tokens. */
function update() {
  const text = currentText();
  const drawn = longText ? input.value : text.length > MAX_DRAWN ? sliceOfWholeCharacters(text) : text;
  const bytes = utf8.encode(text).length;
  const words = text.match(/\S+/gu)?.length ?? 0;
  document.body.classList.toggle("has-pair", open.length > 1);
  const results = open.map(({ tokenizer, withSpecial }) => {
    const encoder = byId("special").checked ? withSpecial : tokenizer;
    const tokens = encoder.tokens(drawn);
    return { tokens, count: drawn.length === text.length ? tokens.length : encoder.count(text), boundaries: boundariesOf(tokens) };
  });
  const rows = open.map((entry, at) => countRow(entry, results[at], results[0], { bytes, words }));
  byId("counts").tBodies[0].replaceChildren(...rows);
  const sides = open.map((entry, at) => {
    const others = open.length > 1 ? results[at === 0 ? 1 : 0].boundaries : null;
    return entry.list.draw(entry, drawn, results[at].tokens, others);
  });
  byId("sides").replaceChildren(...sides);
  const facts = `${numberText(text.length)} UTF-16 units, ${numberText(bytes)} bytes, ${numberText(words)} words`;
  const start = drawn.length < text.length ? `; the first ${numberText(drawn.length)} units are drawn` : "";
  byId("text-note").textContent = (longText ? `${longText.name}: ` : "") + facts + start;
}

/** A row of the table of counts. */
function countRow(entry, { count, boundaries }, first, { bytes, words }) {
  const { name, tokenizer } = entry;
  const number = (value) => element("td", { class: "number" }, value);
  const ratio = (top, bottom) => number(bottom === 0 ? "–" : (top / bottom).toFixed(2));
  const only = (a, b) => number(numberText([...a].filter((boundary) => !b.has(boundary)).length));
  const button = element("button", { type: "button", "aria-label": `Close ${name}` }, "Close");
  button.addEventListener("click", () => remove(entry));
  const row = element(
    "tr",
    {},
    element("th", { scope: "row" }, name),
    element("td", {}, tokenizer.modelType),
    number(numberText(tokenizer.vocabSize)),
    number(numberText(count)),
    ratio(count, words),
    ratio(bytes, count),
    only(boundaries, first.boundaries),
    only(first.boundaries, boundaries),
    element("td", {}, button),
  );
  row.cells[6].classList.add("pair");
  row.cells[7].classList.add("pair");
  return row;
}

let timer;
input.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(update, TYPING_PAUSE);
});
byId("special").addEventListener("change", update);
byId("open").addEventListener("change", async ({ target }) => {
  await openFiles([...target.files]);
  target.value = "";
});
byId("example").addEventListener("change", async ({ target }) => {
  if (target.value !== "") await openExample(target.value);
  target.value = "";
});

async function openExample(name) {
  try {
    const response = await fetch(`examples/${name}`);
    if (!response.ok) throw new Error(`the server answers ${response.status}`);
    add(name, await load(await response.arrayBuffer()));
  } catch (error) {
    say(`${name}: ${error.message}`);
  }
}

// Files are dropped anywhere.
document.addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.add("dropping");
});
document.addEventListener("dragleave", () => document.body.classList.remove("dropping"));
document.addEventListener("drop", async (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  await openFiles([...event.dataTransfer.files]);
});

startTraining({
  text: currentText,
  addTokenizer: async (name, bytes) => add(name, await load(bytes)),
});
for (const name of EXAMPLES) byId("example").append(element("option", { value: name }, name));
for (const name of PATTERNS) byId("patterns").append(element("option", { value: name }));
if (input.value === "") input.value = SAMPLE;
update();
await openExample(EXAMPLES[0]);
document.documentElement.dataset.ready = "true";
