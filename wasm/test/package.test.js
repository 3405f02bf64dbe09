// The package in Node, as it is installed: `node --test wasm/test/*.test.js`, after wasm/build and a build of the program.
//
// SPIECE_MODELS and SPIECE_VOCABULARIES name folders with further models and vocabularies.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { load, loadVocabAndMerges } from "../package/node.js";
import { nativeTokens, ROOT } from "./native.js";

const read = (path) => readFileSync(path.startsWith("/") ? path : ROOT + path);
const open = async (path, options) => load(read(path), options);

/** Lines of every script. */
const REAL = [...read("testdata/udhr_small.txt").toString().split("\n"), ...read("testdata/mixed.txt").toString().split("\n").slice(0, 300)];
/** Every trap of spans. */
const TRAPS = [
  "", " ", "  two  spaces  ", "\ttab", "\u2581", "e\u0301", "\ud83d\ude42\ud83c\uddeb\ud83c\uddf7", "a\u0000b", "\ufeffx", "\ud800 lone", "x\udc00",
  "½ ﬁ ㍿ ｶﾞ", "don't I'LL 1234567", "  \u00a0\u3000 ", "<s></s><|endoftext|><unk>",
];
const LINES = [...REAL, ...TRAPS];
// Each model gets every fourth real line, beginning with another one than the model before.
const SHARES = 4;

/** Every model and vocabulary of the repository, and those of the folders that are named. */
function modelFiles() {
  // vocab.json needs merges.txt.
  const isModel = (name, ending) => name.endsWith(ending) && !name.includes("vocab");
  const inFolder = (folder, ending) => readdirSync(folder).filter((name) => isModel(name, ending)).map((name) => join(folder, name));
  const files = ["run", "golden"].flatMap((folder) => inFolder(`${ROOT}testdata/${folder}`, ".model"));
  files.push(...inFolder(`${ROOT}testdata/bytes`, ".json"));
  files.push(...inFolder(`${ROOT}testdata/wordpiece`, ".json"));
  if (process.env.SPIECE_MODELS) files.push(...inFolder(process.env.SPIECE_MODELS, ".model"));
  const vocabularies = process.env.SPIECE_VOCABULARIES;
  if (vocabularies) files.push(...[".json", ".tiktoken"].flatMap((ending) => inFolder(vocabularies, ending)));
  return files;
}

for (const [number, path] of modelFiles().entries()) {
  test(`${path.replace(ROOT, "")}: tokens, counts and texts are those of the program`, async () => {
    const lines = [...REAL.filter((_, at) => at % SHARES === number % SHARES), ...TRAPS];
    const expected = nativeTokens(path, lines);
    // What the program refuses is refused here, too.
    if (expected === null) return assert.rejects(open(path), Error);
    const tokenizer = await open(path);
    lines.forEach((line, at) => {
      assert.deepEqual(tokenizer.tokens(line), expected[at], JSON.stringify(line));
      const ids = tokenizer.encode(line);
      assert.deepEqual([...ids], expected[at].map(({ id }) => id));
      assert.equal(tokenizer.count(line), ids.length);
      const decoder = tokenizer.decoder();
      const parts = [...ids].map((id) => decoder.push(id));
      assert.equal(parts.join("") + decoder.finish(), tokenizer.decode(ids));
    });
    tokenizer.free();
  });
}

test("a vocabulary without a pattern takes one, and says so if it lacks it", async () => {
  const file = read("testdata/bytes/gpt2.tiktoken");
  await assert.rejects(load(file), /pattern/);
  const [of_tiktoken, of_json] = [await load(file, { pattern: "gpt2" }), await open("testdata/bytes/gpt2.json")];
  for (const line of LINES) assert.deepEqual(of_tiktoken.encode(line), of_json.encode(line));
  await assert.rejects(load(file, { pattern: "(" }), Error);
  await assert.rejects(load(file, { pattern: "gtp2" }), /no pattern has the name gtp2/);
  const pair = ["vocab.json", "merges.txt"].map((name) => read(`testdata/bytes/gpt2-${name}`));
  const of_pair = await loadVocabAndMerges(...pair, { pattern: "gpt2", specialTokens: { "<|mine|>": 100_000 } });
  for (const line of LINES) assert.deepEqual(of_pair.encode(line), of_json.encode(line));
  assert.equal(of_pair.specialTokens.get("<|mine|>"), 100_000);
  assert.equal(of_pair.withOptions({ allowedSpecial: ["<|mine|>"] }).encode("<|mine|>")[0], 100_000);
});

test("a pattern without a scanner is run by the module with training", async () => {
  const file = read("testdata/bytes/gpt2.tiktoken");
  const [small, large] = await Promise.all([load(file, { pattern: "gpt2" }), load(file, { pattern: String.raw`\p{L}+|\d|[^\p{L}\d]+` })]);
  const pieces = (tokenizer, text) => tokenizer.tokens(text).map(({ start, end }) => text.slice(start, end));
  assert.ok(pieces(small, "the cat").includes(" c") || pieces(small, "the cat").includes(" cat"));
  assert.ok(pieces(large, "the cat").every((piece) => piece === " " || !piece.includes(" ")));
  const pair = ["vocab.json", "merges.txt"].map((name) => read(`testdata/bytes/gpt2-${name}`));
  assert.deepEqual((await loadVocabAndMerges(...pair, { pattern: "[^ ]+| +" })).decode(large.encode("the cat")), "the cat");
  await assert.rejects(load(file, { pattern: "(" }), /parenthes|group/);
});

test("special tokens are text unless they are allowed, or refused", async () => {
  const tokenizer = await open("testdata/golden/llama2.model");
  const end = tokenizer.pieceId("</s>");
  assert.ok(!tokenizer.encode("a</s>").includes(end));
  assert.equal(tokenizer.withOptions({ allowedSpecial: "all" }).encode("a</s>").at(-1), end);
  assert.equal(tokenizer.withOptions({ allowedSpecial: ["</s>"] }).encode("a</s>").at(-1), end);
  assert.throws(() => tokenizer.withOptions({ refuseSpecial: true }).encode("a</s>"), /<\/s>/);
  assert.throws(() => tokenizer.withOptions({ allowedSpecial: "</s>" }), TypeError);
  assert.throws(() => tokenizer.withOptions({ allowedSpecial: ["nothing"] }), /nothing/);
  const framed = tokenizer.withOptions({ extra: "bos:eos" }).encode("a");
  assert.deepEqual([framed[0], framed.at(-1)], [tokenizer.pieceId("<s>"), end]);
});

/** A text in about as many parts, between characters. */
function parts(text, count) {
  const [chars, length] = [[...text], Math.max(1, Math.ceil([...text].length / count))];
  return Array.from({ length: Math.ceil(chars.length / length) }, (_, part) => chars.slice(part * length, (part + 1) * length).join(""));
}

for (const name of ["golden/llama2.model", "run/unigram.model", "bytes/gpt2.json"]) {
  test(`${name}: the ids of a text in parts are those of the text`, async () => {
    // User-defined symbols are found inside of segments only.
    const tokenizer = (await open(`testdata/${name}`)).withOptions({ userDefinedSymbols: false });
    const encoder = tokenizer.appendingEncoder();
    for (const line of LINES) {
      const expected = tokenizer.encode(line);
      assert.deepEqual(tokenizer.encodeSegments(parts(line, 3).map((text) => ({ text }))), expected, JSON.stringify(line));
      let [text, before] = ["", new Uint32Array()];
      for (const part of parts(line, 5)) {
        text += part;
        const { kept, added } = encoder.push(part);
        assert.deepEqual(encoder.ids, tokenizer.encode(text), JSON.stringify(text));
        assert.deepEqual([...before.subarray(0, kept), ...added], [...encoder.ids]);
        before = encoder.ids;
      }
      assert.deepEqual(before, expected);
      encoder.clear();
      assert.equal(encoder.ids.length, 0);
    }
    tokenizer.free();
    assert.ok(encoder.push("the encoder does not need it").added.length > 0);
    encoder.free();
  });
}

test("each segment finds the special tokens that its tokenizer allows", async () => {
  const tokenizer = await open("testdata/golden/llama2.model");
  const template = tokenizer.withOptions({ allowedSpecial: "all" });
  const [begin, end] = ["<s>", "</s>"].map((piece) => tokenizer.pieceId(piece));
  const segments = [{ text: "<s>the ri", tokenizer: template }, { text: "ght</s>" }, { text: "</s>", tokenizer: template }];
  const expected = [begin, ...tokenizer.encode("the right</s>"), end];
  assert.deepEqual([...tokenizer.encodeSegments(segments)], expected);
  // A generator, and the extra ids of the tokenizer that encodes.
  const framed = tokenizer.withOptions({ extra: "eos" }).encodeSegments(segments.values());
  assert.deepEqual([...framed], [...expected, end]);
  assert.equal(tokenizer.encodeSegments([]).length, 0);
  const strict = tokenizer.withOptions({ refuseSpecial: true });
  assert.throws(() => strict.encodeSegments([{ text: "a</s>" }]), /<\/s>/);
  const refusing = strict.appendingEncoder();
  refusing.push("a</");
  assert.throws(() => refusing.push("s>"), /<\/s>/);
  assert.deepEqual(refusing.ids, tokenizer.encode("a</"));
  // Special tokens of another vocabulary.
  const other = (await open("testdata/bytes/gpt2.json")).withOptions({ allowedSpecial: "all" });
  assert.throws(() => tokenizer.encodeSegments([{ text: "a", tokenizer: other }]), /endoftext/);
  for (const wrong of ["a", [{}], [{ text: 5 }], [{ text: "a", tokenizer: {} }], [["a", template]], 5]) {
    assert.throws(() => tokenizer.encodeSegments(wrong), TypeError, JSON.stringify(wrong));
  }
  assert.throws(() => refusing.push(5), TypeError);
  assert.deepEqual(tokenizer.encodeSegments([{ text: "the right" }]), tokenizer.encode("the right"));
});

test("what is no text, no id or no file is refused, and the instance goes on", async () => {
  const tokenizer = await open("testdata/golden/llama2.model");
  for (const text of [undefined, null, 5, {}, ["a"]]) {
    assert.throws(() => tokenizer.encode(text), TypeError);
    assert.throws(() => tokenizer.count(text), TypeError);
    assert.throws(() => tokenizer.tokens(text), TypeError);
  }
  for (const id of [-1, 1.5, NaN, 2 ** 32, "7", null, 1n]) {
    assert.throws(() => tokenizer.decode([id]), RangeError, String(id));
    assert.throws(() => tokenizer.decoder().push(id), RangeError);
    assert.throws(() => tokenizer.piece(id), RangeError);
  }
  assert.throws(() => tokenizer.decode([tokenizer.vocabSize]), Error);
  assert.equal(tokenizer.piece(tokenizer.vocabSize), undefined);
  for (const file of [new Uint8Array(), new Uint8Array([0, 1, 2]), new TextEncoder().encode("<html>"), new ArrayBuffer(9)]) {
    await assert.rejects(load(file), Error);
  }
  await assert.rejects(load("a path"), TypeError);
  assert.equal(tokenizer.decode(tokenizer.encode("still here")), "still here");
  const byteLevel = await open("testdata/bytes/gpt2.json");
  const half = byteLevel.encode("世").subarray(0, 1);
  assert.equal(byteLevel.decode(half), "\ufffd");
  assert.throws(() => byteLevel.decode(half, { strict: true }), Error);
  assert.deepEqual(byteLevel.decodeToBytes(half), new TextEncoder().encode("世").subarray(0, 1));
});

test("ids come as any iterable, and batches are lists", async () => {
  const tokenizer = await open("testdata/golden/llama2.model");
  const ids = tokenizer.encode("the right");
  for (const form of [ids, [...ids], new Set(ids), new Uint16Array(ids), Array.from(ids).values()]) {
    assert.equal(tokenizer.decode(form), "the right");
  }
  const texts = ["one", "", "two"];
  assert.deepEqual(tokenizer.encodeBatch(texts), texts.map((text) => tokenizer.encode(text)));
  assert.deepEqual(tokenizer.decodeBatch(tokenizer.encodeBatch(texts)), texts);
});

test("a piece tells its bytes, kind and score", async () => {
  const tokenizer = await open("testdata/golden/llama2.model");
  const id = tokenizer.pieceId("▁the");
  assert.equal(tokenizer.piece(id), "▁the");
  assert.equal(tokenizer.kind(id), "normal");
  assert.ok(tokenizer.score(id) < 0);
});

/** Deterministic random numbers. */
function* random(seed) {
  for (let state = seed; ; ) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state / 2 ** 32;
  }
}

test("changed files and hostile texts end in errors or results, never in an abort", async () => {
  const numbers = random(20);
  const below = (limit) => Math.floor(numbers.next().value * limit);
  const files = ["run/unigram.model", "run/bpe_symbols.model", "bytes/gpt2.json", "bytes/gpt2.tiktoken", "wordpiece/bert.txt"]
    .filter((name) => { try { read(`testdata/${name}`); return true; } catch { return false; } })
    .map((name) => read(`testdata/${name}`));
  let loaded = 0;
  for (let round = 0; round < 400; round++) {
    const file = Uint8Array.from(files[round % files.length]);
    for (let change = below(4); change >= 0; change--) file[below(file.length)] = below(256);
    const cut = below(4) === 0 ? file.subarray(0, below(file.length)) : file;
    try {
      const tokenizer = await load(cut, { pattern: round % 3 === 0 ? "cl100k" : undefined });
      loaded += 1;
      const text = String.fromCharCode(...Array.from({ length: 200 }, () => below(0x10000)));
      const ids = tokenizer.encode(text);
      tokenizer.tokens(text);
      tokenizer.decode(ids);
      tokenizer.free();
    } catch (error) {
      assert.ok(error instanceof Error && !(error instanceof WebAssembly.RuntimeError), String(error.stack));
    }
  }
  assert.ok(loaded > 20, `${loaded} were loaded`);
  const tokenizer = await open("testdata/bytes/gpt2.json");
  for (const text of ["a".repeat(3_000_000), "世".repeat(500_000), " ".repeat(1_000_000), "\ud800".repeat(100_000)]) {
    assert.equal(tokenizer.count(text), tokenizer.encode(text).length);
  }
});
