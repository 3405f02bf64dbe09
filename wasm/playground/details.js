// The panel with the selected token: id, kind, score, bytes, span, and the merges that make it.

import { element, hexText, visibleBytes } from "./visible.js";

/** More merges belong to pieces of hundreds of characters. */
const MAX_MERGES = 200;

export class Details {
  constructor(panel, content, closeButton) {
    this.panel = panel;
    this.content = content;
    closeButton.addEventListener("click", () => this.close());
    document.addEventListener("keydown", ({ key }) => {
      if (key === "Escape") this.close();
    });
  }

  /** Hides the panel; the focus goes back to the token. */
  close() {
    if (this.panel.hidden) return;
    this.panel.hidden = true;
    this.opener?.focus();
  }

  show(name, tokenizer, text, { id, start, end }, opener) {
    this.opener = opener;
    const bytes = tokenizer.pieceBytes(id) ?? new Uint8Array();
    const list = element("dl", {});
    const add = (term, value) => list.append(element("dt", {}, term), element("dd", {}, value));
    add("Tokenizer", name);
    add("Id", String(id));
    const kind = tokenizer.kind(id);
    if (kind !== undefined) add("Kind", kind);
    const score = tokenizer.score(id);
    if (score !== undefined) add("Score", String(score));
    add("Bytes", element("code", {}, hexText(bytes)));
    add("Length", `${bytes.length} bytes`);
    add("Span", `UTF-16 units ${start} to ${end}`);
    add("Text", visibleBytes(new TextEncoder().encode(text.slice(start, end))));
    this.content.replaceChildren(element("p", { class: "big" }, visibleBytes(bytes)), list, ...mergeNodes(tokenizer, id, bytes));
    this.panel.hidden = false;
  }
}

/** The merges of a piece in their order: what was joined, and the id of the result. */
function mergeNodes(tokenizer, id, bytes) {
  const merges = tokenizer.merges(id);
  if (merges.length === 0) return [];
  const part = ({ start, end }) => visibleBytes(bytes.subarray(start, end));
  const items = merges.slice(0, MAX_MERGES).map(({ id: made, left, right }) => {
    const result = part({ start: left.start, end: right.end });
    return element("li", {}, part(left), " + ", part(right), " → ", result, ` (${made})`);
  });
  return [element("h3", {}, "Merges of its text"), element("ol", {}, ...items)];
}
