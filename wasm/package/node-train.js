// The package with training, in Node, which does not fetch files.
import { readFile } from "node:fs/promises";

import * as bindings from "./dist/train.js";
import { loaders } from "./tokenizer.js";
import { trainers } from "./trainers.js";

export { AppendingEncoder, Decoder, Tokenizer } from "./tokenizer.js";
const { initialize, ...functions } = loaders(bindings, () => readFile(new URL("./dist/train_bg.wasm", import.meta.url)));
export const { load, loadVocabAndMerges } = functions;
export const { train, trainBytes } = trainers(bindings, initialize);
