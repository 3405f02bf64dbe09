// The package in browsers, workers and other runtimes that fetch files.
import * as bindings from "./dist/core.js";
import { loaders } from "./tokenizer.js";

export { AppendingEncoder, Decoder, Tokenizer } from "./tokenizer.js";
export const { load, loadVocabAndMerges } = loaders(bindings, () => new URL("./dist/core_bg.wasm", import.meta.url));
