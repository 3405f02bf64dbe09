// The package as npm packs it, installed into an empty project.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { ROOT } from "./native.js";

const PROGRAM = `
import { readFile } from "node:fs/promises";
import { load } from "spiece";
import { train } from "spiece/train";

const tokenizer = await load(await readFile(process.argv[2]));
const ids = tokenizer.encode("Hello, world!");
const trained = await load(await train("a pen\\na pineapple\\n", { vocab_size: 40, hard_vocab_limit: false }));
console.log(tokenizer.decode(ids), trained.count("a pen") > 0);
`;

test("what npm packs is installed into an empty project and runs", () => {
  const folder = mkdtempSync(join(tmpdir(), "spiece-"));
  const run = (program, ...options) => execFileSync(program, options, { cwd: folder, stdio: ["ignore", "pipe", "inherit"] }).toString();
  try {
    const [{ filename, files }] = JSON.parse(run("npm", "pack", "--json", `${ROOT}wasm/package`));
    const names = files.map(({ path }) => path);
    for (const name of ["index.js", "index.d.ts", "node.js", "train.d.ts", "dist/core_bg.wasm", "dist/train_bg.wasm", "README.md"]) {
      assert.ok(names.includes(name), `${name} is packed: ${names}`);
    }
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    run("npm", "install", "--silent", "--no-audit", "--no-fund", `./${filename}`);
    writeFileSync(join(folder, "program.js"), PROGRAM);
    assert.equal(run("node", "program.js", `${ROOT}testdata/golden/llama2.model`), "Hello, world! true\n");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
