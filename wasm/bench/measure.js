// Encodes texts in Node with the package and with other packages of npm, and prints MB per second, medians of rounds.
//
// Usage: (cd wasm/bench && npm install); node wasm/bench/measure.js VOCABULARIES TEXT...
//
// VOCABULARIES is a folder with o200k_base.tiktoken and gpt4o.json (the tokenizer.json of the same vocabulary). All peers
// run in turn in each round, on texts of a line each; the sums of ids must be equal.

import { readFileSync } from "node:fs";
import { basename, join } from "node:path";

import { Tokenizer as HuggingFace } from "@huggingface/tokenizers";
import { Tiktoken } from "js-tiktoken/lite";
import ranks from "js-tiktoken/ranks/o200k_base";
import { get_encoding } from "tiktoken";
import { encode as encodeGpt } from "gpt-tokenizer/encoding/o200k_base";

import { load } from "../package/node.js";

const ROUNDS = 5;
/** A text is cut to so many lines, of at most so many bytes together. */
const MAX_BYTES = 2_000_000;

const [folder, ...texts] = process.argv.slice(2);
if (texts.length === 0) {
  console.error("usage: node wasm/bench/measure.js VOCABULARIES TEXT...");
  process.exit(2);
}

const timed = async (make) => {
  const start = performance.now();
  const value = await make();
  return [value, performance.now() - start];
};

/** Peers by name: [how they count the ids of a text, milliseconds to load]. */
async function peers() {
  const file = readFileSync(join(folder, "o200k_base.tiktoken"));
  const json = JSON.parse(readFileSync(join(folder, "gpt4o.json"), "utf8"));
  const config = { tokenizer_class: "PreTrainedTokenizer" };
  const [ours, oursTime] = await timed(() => load(file, { pattern: "o200k" }));
  const [js, jsTime] = await timed(() => new Tiktoken(ranks));
  const [wasm, wasmTime] = await timed(() => get_encoding("o200k_base"));
  const [hugging, huggingTime] = await timed(() => new HuggingFace(json, config));
  const [, gptTime] = await timed(() => encodeGpt("a"));
  return {
    spiece: [(text) => ours.encode(text).length, oursTime],
    "js-tiktoken": [(text) => js.encode(text, [], []).length, jsTime],
    "tiktoken (WASM)": [(text) => wasm.encode_ordinary(text).length, wasmTime],
    "gpt-tokenizer": [(text) => encodeGpt(text, { disallowedSpecial: new Set() }).length, gptTime],
    "@huggingface/tokenizers": [(text) => hugging.encode(text, { add_special_tokens: false }).ids.length, huggingTime],
  };
}

/** The lines of the start of a text. */
function linesOf(path) {
  const text = readFileSync(path).subarray(0, MAX_BYTES).toString();
  return text.slice(0, text.lastIndexOf("\n")).split("\n").filter((line) => line !== "");
}

const median = (numbers) => numbers.sort((a, b) => a - b)[numbers.length >> 1];

const all = await peers();
console.log(`load, ms: ${Object.entries(all).map(([name, [, time]]) => `${name} ${time.toFixed(0)}`).join(", ")}`);
for (const path of texts) {
  const lines = linesOf(path);
  const bytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0);
  const rates = {};
  const sums = {};
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, [count]] of Object.entries(all)) {
      const start = performance.now();
      sums[name] = lines.reduce((sum, line) => sum + count(line), 0);
      (rates[name] ??= []).push(bytes / 1000 / (performance.now() - start));
    }
  }
  const figures = Object.entries(rates).map(([name, numbers]) => `${name} ${median(numbers).toFixed(1)}`);
  console.log(`${basename(path)}, MB/s: ${figures.join(", ")}`);
  const different = Object.entries(sums).filter(([, sum]) => sum !== sums.spiece);
  if (different.length > 0) console.log(`  other numbers of ids than ${sums.spiece}: ${different.map((pair) => pair.join(" ")).join(", ")}`);
}
