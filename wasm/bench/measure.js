// Encodes texts in Node with the package and with other packages of npm, and prints MB per second, medians of rounds.
//
// Usage: (cd wasm/bench && npm install); node wasm/bench/measure.js [--only=NAME,...] VOCABULARIES TEXT...
//
// VOCABULARIES is a folder with o200k_base.tiktoken and gpt4o.json (the tokenizer.json of the same vocabulary). All peers
// run in turn in each round, on texts of a line each; the sums of ids must be equal. Each round has other lines;
// with the same lines, a peer with a cache of pretokens would be timed on its cache alone. The first round is not counted,
// because V8 compiles the code in it.

import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";

import { Tokenizer as HuggingFace } from "@huggingface/tokenizers";
import { Tiktoken } from "js-tiktoken/lite";
import ranks from "js-tiktoken/ranks/o200k_base";
import { get_encoding } from "tiktoken";
import { encode as encodeGpt } from "gpt-tokenizer/encoding/o200k_base";

import { load } from "../package/node.js";

const ROUNDS = 5;
/** A round has about so many bytes of text, fewer if the text is shorter than all rounds. */
const ROUND_BYTES = 1_000_000;

const { values: options, positionals } = parseArgs({ options: { only: { type: "string" } }, allowPositionals: true });
const [folder, ...texts] = positionals;
if (texts.length === 0) {
  console.error("usage: node wasm/bench/measure.js [--only=NAME,...] VOCABULARIES TEXT...");
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

/** The lines of a text for each round, taken from everywhere in it. */
function partsOf(path) {
  const text = readFileSync(path, "utf8");
  const lines = text.split("\n").filter((line) => line !== "");
  const count = Math.max(ROUNDS + 1, Math.round(Buffer.byteLength(text) / ROUND_BYTES));
  return Array.from({ length: ROUNDS + 1 }, (_, part) => lines.filter((_, number) => number % count === part));
}

const median = (numbers) => numbers.sort((a, b) => a - b)[numbers.length >> 1];

const all = Object.entries(await peers()).filter(([name]) => !options.only || options.only.split(",").includes(name));
console.log(`load, ms: ${all.map(([name, [, time]]) => `${name} ${time.toFixed(0)}`).join(", ")}`);
for (const path of texts) {
  const rates = {};
  const sums = {};
  for (const [round, lines] of partsOf(path).entries()) {
    const bytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0);
    for (const [name, [count]] of all) {
      const start = performance.now();
      const sum = lines.reduce((sum, line) => sum + count(line), 0);
      const rate = bytes / 1000 / (performance.now() - start);
      sums[name] = (sums[name] ?? 0) + sum;
      if (round > 0) (rates[name] ??= []).push(rate);
    }
  }
  const figures = Object.entries(rates).map(([name, numbers]) => `${name} ${median(numbers).toFixed(1)}`);
  console.log(`${basename(path)}, MB/s: ${figures.join(", ")}`);
  if (new Set(Object.values(sums)).size > 1) {
    console.log(`  different numbers of ids: ${Object.entries(sums).map((pair) => pair.join(" ")).join(", ")}`);
  }
}
