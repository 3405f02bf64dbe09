// The ids that llama.cpp gives: node llama_cpp.mjs FILE.gguf TEXTS.json OUT.json
import { readFileSync, writeFileSync } from "node:fs";
import { getLlama, LlamaLogLevel } from "node-llama-cpp";

const [file, texts, output] = process.argv.slice(2);
const llama = await getLlama({ gpu: false, build: "never", skipDownload: true, logLevel: LlamaLogLevel.disabled });
const model = await llama.loadModel({ modelPath: file, vocabOnly: true, gpuLayers: 0 });
const ids = JSON.parse(readFileSync(texts, "utf8")).map((text) => Array.from(model.tokenize(text, false)));
writeFileSync(output, JSON.stringify(ids));
process.exit(0);
