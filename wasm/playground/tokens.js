// The tokens of a text as one list with one tab stop: the arrow keys move, and the token that has the focus is selected.

import { element, numberText, visibleBytes } from "./visible.js";

/** The tokens that are drawn; the others are counted. */
const MAX_DRAWN_TOKENS = 4000;
const COLOURS = 6;

/** The positions where tokens end. */
export function boundariesOf(tokens) {
  return new Set(tokens.map(({ end }) => end));
}

export class TokenList {
  constructor(details) {
    this.details = details;
    this.selected = 0;
  }

  /** A section with the tokens. Boundaries that are not in `others` are marked. */
  draw({ name, tokenizer }, text, tokens, others) {
    const list = element("div", { class: "tokens", role: "listbox", "aria-label": `Tokens of ${name}`, "aria-orientation": "horizontal" });
    const drawn = tokens.slice(0, MAX_DRAWN_TOKENS);
    this.selected = Math.min(this.selected, Math.max(drawn.length - 1, 0));
    const nodes = drawn.map((token, at) => {
      const node = element("span", { class: `token colour-${at % COLOURS}`, role: "option", tabindex: "-1", "aria-selected": "false" });
      node.append(labelOf(tokenizer, text, token));
      if (others !== null && !others.has(token.end)) node.classList.add("only");
      return node;
    });
    if (nodes.length > 0) nodes[this.selected].tabIndex = 0;
    list.append(...nodes);
    const select = (at) => {
      nodes[this.selected].tabIndex = -1;
      nodes[this.selected].ariaSelected = "false";
      this.selected = at;
      nodes[at].tabIndex = 0;
      nodes[at].ariaSelected = "true";
      nodes[at].focus();
      this.details.show(name, tokenizer, text, drawn[at], nodes[at]);
    };
    list.addEventListener("click", ({ target }) => {
      const at = nodes.indexOf(target.closest(".token"));
      if (at >= 0) select(at);
    });
    list.addEventListener("pointerover", ({ target }) => {
      const at = nodes.indexOf(target.closest(".token"));
      if (at >= 0) nodes[at].title ||= titleOf(tokenizer, drawn[at]);
    });
    list.addEventListener("keydown", (event) => {
      const to = { ArrowRight: this.selected + 1, ArrowLeft: this.selected - 1, Home: 0, End: nodes.length - 1, Enter: this.selected, " ": this.selected }[event.key];
      if (to === undefined || nodes.length === 0) return;
      event.preventDefault();
      select(Math.max(0, Math.min(to, nodes.length - 1)));
    });
    const more = tokens.length - drawn.length;
    const ids = element("details", {}, element("summary", {}, "Ids"), element("p", { class: "ids" }, tokens.map(({ id }) => id).join(" ")));
    return element(
      "section",
      {},
      element("h3", {}, name),
      list,
      ...(more > 0 ? [element("p", { class: "note" }, `${numberText(more)} more tokens are not drawn.`)] : []),
      ids,
    );
  }
}

/** What a token shows: its piece, or the text that no piece covers. */
function labelOf(tokenizer, text, token) {
  if (tokenizer.kind(token.id) === "unknown" && token.end > token.start) {
    return visibleBytes(new TextEncoder().encode(text.slice(token.start, token.end)));
  }
  return visibleBytes(tokenizer.pieceBytes(token.id) ?? new Uint8Array());
}

function titleOf(tokenizer, { id, start, end }) {
  return `id ${id}, ${tokenizer.pieceBytes(id)?.length ?? 0} bytes, units ${start} to ${end}`;
}
