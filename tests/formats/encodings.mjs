// OpenAI's encodings in JavaScript. The ids of a program: node encodings.mjs PROGRAM ENCODING TEXTS.json OUT.json
// The ranks that the package tiktoken has, as a .tiktoken file: node encodings.mjs ranks ENCODING OUT.tiktoken
import { readFileSync, writeFileSync } from "node:fs";

const [program, name, ...files] = process.argv.slice(2);

// A line of the package is "!", the first rank, and the tokens in base64.
function ranks() {
  const encoding = JSON.parse(readFileSync(`node_modules/tiktoken/encoders/${name}.json`, "utf8"));
  const lines = encoding.bpe_ranks.split("\n").filter((line) => line !== "");
  return lines.flatMap((line) => {
    const [, first, ...tokens] = line.split(" ");
    return tokens.map((token, number) => `${token} ${Number(first) + number}\n`);
  });
}

async function encoder() {
  if (program === "gpt-tokenizer") {
    const { encode } = await import(`gpt-tokenizer/encoding/${name}`);
    return (text) => encode(text, { disallowedSpecial: new Set() });
  }
  if (program === "js-tiktoken") {
    const { getEncoding } = await import("js-tiktoken");
    const encoding = getEncoding(name);
    return (text) => encoding.encode(text, [], []);
  }
  const { get_encoding } = await import("tiktoken");
  const encoding = get_encoding(name);
  return (text) => encoding.encode_ordinary(text);
}

if (program === "ranks") {
  writeFileSync(files[0], ranks().join(""));
} else {
  const encode = await encoder();
  const ids = JSON.parse(readFileSync(files[0], "utf8")).map((text) => Array.from(encode(text)));
  writeFileSync(files[1], JSON.stringify(ids));
}
