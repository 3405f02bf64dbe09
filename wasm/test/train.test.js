// The module with training, in Node.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import * as training from "../package/node-train.js";
import { ROOT, SPIECE } from "./native.js";

test("training gives the bytes of the program", async () => {
  const folder = mkdtempSync(join(tmpdir(), "spiece-"));
  const text = readFileSync(`${ROOT}testdata/udhr_small.txt`);
  const native = (flags) => execFileSync(SPIECE, ["train", "--quiet", `--input=${ROOT}testdata/udhr_small.txt`, `--model_prefix=${folder}/m`, ...flags]);
  try {
    for (const model_type of ["bpe", "unigram", "word", "char"]) {
      const flags = { model_type, vocab_size: 300, hard_vocab_limit: false };
      native(Object.entries(flags).map(([name, value]) => `--${name}=${value}`));
      const stages = new Set();
      const file = await training.train(text, flags, (stage) => void stages.add(stage));
      const expected = await training.load(readFileSync(`${folder}/m.model`));
      const trained = await training.load(file);
      assert.equal(trained.vocabSize, expected.vocabSize, model_type);
      for (let id = 0; id < trained.vocabSize; id++) {
        assert.deepEqual([trained.piece(id), trained.score(id)], [expected.piece(id), expected.score(id)], `${model_type} ${id}`);
      }
      assert.ok(stages.has("reading") && stages.has("assembling"), [...stages].join());
    }
    native(["--model_type=byte_bpe", "--vocab_size=400", "--special_tokens=<|end|>"]);
    const file = await training.trainBytes(text, { vocabSize: 400, specialTokens: ["<|end|>"] });
    assert.equal(new TextDecoder().decode(file), readFileSync(`${folder}/m.json`).toString());
  } finally {
    rmSync(folder, { recursive: true });
  }
  await assert.rejects(training.train("", {}), Error);
  await assert.rejects(training.train("a text", { no_such_option: 1 }), /no_such_option/);
  await assert.rejects(training.train("a text", { vocab_size: 40 }, () => { throw new RangeError("mine"); }), /mine/);
  const stop = training.train(text, { vocab_size: 300, hard_vocab_limit: false }, () => false);
  await assert.rejects(stop, Error);
});

test("a piece tells the merges that make it", async () => {
  const tokenizer = await training.load(readFileSync(`${ROOT}testdata/golden/llama2.model`));
  const id = tokenizer.pieceId("▁the");
  const made = tokenizer.merges(id).map(({ id: piece }) => tokenizer.piece(piece));
  assert.deepEqual(made, ["▁t", "▁th", "▁the"]);
  assert.deepEqual(tokenizer.merges(0), []);
});
