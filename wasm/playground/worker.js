// Trains, and reports how far it is.

import { train, trainBytes } from "./spiece/train.js";

addEventListener("message", async ({ data: { corpus, options } }) => {
  const report = (stage, done, all) => postMessage({ stage, done, all });
  const start = performance.now();
  try {
    const file =
      options.type === "byte_bpe"
        ? await trainBytes(corpus, { vocabSize: options.size, pattern: options.pattern }, report)
        : await train(corpus, { model_type: options.type, vocab_size: options.size, hard_vocab_limit: false }, report);
    postMessage({ file, milliseconds: performance.now() - start }, [file.buffer]);
  } catch (error) {
    postMessage({ error: error.message });
  }
});
