// The ids that @huggingface/tokenizers gives: node tokenizers_js.mjs FOLDER TEXTS.json OUT.json
import { readFileSync, writeFileSync } from "node:fs";
import { Tokenizer } from "@huggingface/tokenizers";

const [folder, texts, output] = process.argv.slice(2);
const read = (path) => JSON.parse(readFileSync(path, "utf8"));
const tokenizer = new Tokenizer(read(`${folder}/tokenizer.json`), read(`${folder}/tokenizer_config.json`));
const ids = read(texts).map((text) => Array.from(tokenizer.encode(text, { add_special_tokens: false }).ids));
writeFileSync(output, JSON.stringify(ids));
