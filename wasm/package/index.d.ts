/** What a vocabulary needs and its file lacks: `.tiktoken`, `vocab.json` with `merges.txt`. */
export interface LoadOptions {
  /** The name of a known pattern, such as `cl100k`, `o200k`, `gpt2`, `llama3`, `qwen2`, or a regular expression. */
  pattern?: string;
  /** The special tokens and their ids. */
  specialTokens?: Record<string, number> | Map<string, number>;
}

/** How texts are encoded. */
export interface EncodeOptions {
  /** The special tokens that are found in texts; without it none is. Only for trusted text. */
  allowedSpecial?: "all" | Iterable<string>;
  /** Whether a text with a special token that is not allowed is an error. Otherwise it is ordinary text. */
  refuseSpecial?: boolean;
  /** Whether user-defined symbols and added tokens are found in texts; true by default. */
  userDefinedSymbols?: boolean;
  /** Changes to the ids, in their order, as SentencePiece names them: `bos`, `eos`, `reverse`, joined by `:`. */
  extra?: string;
}

/** A token; the span is in UTF-16 units of the text, so that `text.slice(start, end)` is its text. */
export interface Token {
  id: number;
  start: number;
  end: number;
}

/** A part of a text. A surrogate pair has to be in one part. */
export interface Segment {
  text: string;
  /** The tokenizer whose options say what is found in this part, from `withOptions`; by default the one that encodes. */
  tokenizer?: Tokenizer;
}

/** What text that was appended changed: the first `kept` ids stay, `added` follows them. */
export interface Appended {
  kept: number;
  added: Uint32Array;
}

/** Encodes and decodes; made by {@link load}. Keep one for each vocabulary. */
export class Tokenizer {
  private constructor();
  /** The ids of a text. A lone surrogate is encoded as U+FFFD. */
  encode(text: string): Uint32Array;
  encodeBatch(texts: Iterable<string>): Uint32Array[];
  /**
   * The ids of one text that is given in segments, such as a chat: in text of the template special tokens are found, and in
   * text of users they are not. The ids are those of the whole text in which only the tokens are found that are inside of a
   * segment that allows them. Of the option `extra`, that of this tokenizer counts.
   */
  encodeSegments(segments: Iterable<Segment>): Uint32Array;
  /** An encoder of a text that grows at its end, with these options but `extra`. */
  appendingEncoder(): AppendingEncoder;
  /** The number of ids of a text. */
  count(text: string): number;
  /** The tokens of a text with their spans. */
  tokens(text: string): Token[];
  /** The text of ids. With `strict`, bytes that are no UTF-8 are an error; otherwise they become U+FFFD. */
  decode(ids: Iterable<number>, options?: { strict?: boolean }): string;
  decodeBatch(batch: Iterable<Iterable<number>>, options?: { strict?: boolean }): string[];
  decodeToBytes(ids: Iterable<number>): Uint8Array;
  /** A decoder of ids that arrive one by one. */
  decoder(): Decoder;
  /** The same vocabulary with other options; make it once for many texts. Tables are shared. */
  withOptions(options?: EncodeOptions): Tokenizer;
  /** The number of ids: they are below it. */
  readonly vocabSize: number;
  /** `unigram`, `bpe`, `word`, `char`, `byte_bpe` or `wordpiece`. */
  readonly modelType: string;
  /** The special tokens or control pieces, with their ids. */
  readonly specialTokens: Map<string, number>;
  /** The text of a piece as the vocabulary spells it; U+FFFD for bytes that are no UTF-8. */
  piece(id: number): string | undefined;
  pieceBytes(id: number): Uint8Array | undefined;
  pieceId(piece: string | Uint8Array): number | undefined;
  /** What a piece is for: `normal`, `unknown`, `control`, `user_defined`, `unused` or `byte`. */
  kind(id: number): string | undefined;
  score(id: number): number | undefined;
  /** The text as the model sees it, before it is cut into pieces. */
  normalize(text: string): string;
  /** Frees the memory at once; without it, it is freed when the tokenizer is garbage. */
  free(): void;
}

/** Encodes a text that grows at its end, such as a prompt; made by {@link Tokenizer.appendingEncoder}. */
export class AppendingEncoder {
  private constructor();
  /**
   * Appends text, which takes the time for it and a few words before it; with some vocabularies, that for all of the text. After
   * an error, the text is as before. A surrogate pair has to be in one part.
   */
  push(text: string): Appended;
  /** The ids of the text so far: those of `encode`. */
  readonly ids: Uint32Array;
  /** Begins another text. */
  clear(): void;
  free(): void;
}

/** Decodes ids one by one; made by {@link Tokenizer.decoder}. */
export class Decoder {
  private constructor();
  /** Takes the next id and returns the text that is now certain, which may be empty: never half a character. */
  push(id: number): string;
  /** Ends the text and returns what was held back. The decoder is then ready for another text. */
  finish(): string;
  free(): void;
}

/**
 * Reads a tokenizer file, recognized by its content: SentencePiece's `.model`, `tokenizer.json`, `.tiktoken`,
 * `tekken.json`, minbpe's `.model`, GGUF, BERT's `vocab.txt`. Rejects with an `Error` that says what is wrong with it.
 */
export function load(file: Uint8Array | ArrayBuffer, options?: LoadOptions): Promise<Tokenizer>;

/** Reads the contents of `vocab.json` and `merges.txt`. */
export function loadVocabAndMerges(
  vocab: Uint8Array | ArrayBuffer,
  merges: Uint8Array | ArrayBuffer,
  options?: LoadOptions,
): Promise<Tokenizer>;
