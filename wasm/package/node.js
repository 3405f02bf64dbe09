// The package in Node, which does not fetch files.
import { readFile } from "node:fs/promises";

import * as bindings from "./dist/core.js";
import { loaders } from "./tokenizer.js";

export { AppendingEncoder, Decoder, Tokenizer } from "./tokenizer.js";
export const { load, loadVocabAndMerges } = loaders(bindings, () => readFile(new URL("./dist/core_bg.wasm", import.meta.url)));
