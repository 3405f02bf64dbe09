// The ids and spans of the program, with which those of the package are compared.

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
export const SPIECE = process.env.SPIECE ?? `${ROOT}target/release/spiece`;

/** For each line the tokens of `spiece encode`, with spans in UTF-16 units; null if the program refuses the file. */
export function nativeTokens(path, lines) {
  const input = lines.map((line) => `${JSON.stringify({ text: line.toWellFormed() })}\n`).join("");
  const flags = [`--model=${path}`, "--output_format=json", "--json_field=text"];
  const done = spawnSync(SPIECE, ["encode", ...flags], { input, maxBuffer: 1 << 30 });
  if (done.error) throw done.error;
  if (done.status !== 0) return null;
  return done.stdout.toString().trimEnd().split("\n").map((line, at) => tokensOf(JSON.parse(line), lines[at].toWellFormed()));
}

/** The tokens of a line, whose positions are in bytes. */
function tokensOf({ pieces }, line) {
  const units = unitsOfBytes(line);
  return pieces.map(({ id, begin, end }) => ({ id, start: units[begin], end: units[end] }));
}

/** For each byte of a text the UTF-16 unit at which its character begins. */
function unitsOfBytes(text) {
  const units = [];
  let unit = 0;
  for (const char of text) {
    const code = char.codePointAt(0);
    const bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (let byte = 0; byte < bytes; byte++) units.push(unit);
    unit += char.length;
  }
  units.push(unit);
  return units;
}
