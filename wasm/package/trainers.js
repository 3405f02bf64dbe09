// Training over the bindings of the module that has it.

const encoder = new TextEncoder();
const nothing = () => {};

const bytesOf = (text) => (typeof text === "string" ? encoder.encode(text) : text);

/** The value of an option as the flag of a command line. */
function flagValue(value) {
  return Array.isArray(value) ? value.join(",") : String(value);
}

/** Makes `train` and `trainBytes` for a module. */
export function trainers(bindings, initialize) {
  return {
    async train(text, options = {}, report = nothing) {
      await initialize();
      const values = Object.values(options).map(flagValue);
      return bindings.trainModel(bytesOf(text), Object.keys(options), values, report);
    },
    async trainBytes(text, { vocabSize, pattern = "gpt2", tieOrder = "hf", specialTokens = [] }, report = nothing) {
      await initialize();
      return bindings.trainBytes(bytesOf(text), vocabSize, pattern, tieOrder, [...specialTokens], report);
    },
  };
}
