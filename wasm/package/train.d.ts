import { LoadOptions, Tokenizer as Encoder } from "./index.js";

export { Appended, AppendingEncoder, Decoder, EncodeOptions, LoadOptions, Segment, Token } from "./index.js";

/** A merge in the text of a piece: the id that it makes, and the bytes of the piece that its parts have. */
export interface Merge {
  id: number;
  left: { start: number; end: number };
  right: { start: number; end: number };
}

/** As the tokenizer of the smaller module, with what it lacks. */
export interface Tokenizer extends Encoder {
  /**
   * The merges of the text of a piece, in their order; the last one makes the piece, unless its text is encoded with other
   * pieces. Empty for a vocabulary without merges.
   */
  merges(id: number): Merge[];
}

/** As `load` of the smaller module. */
export function load(file: Uint8Array | ArrayBuffer, options?: LoadOptions): Promise<Tokenizer>;

/** As `loadVocabAndMerges` of the smaller module. */
export function loadVocabAndMerges(
  vocab: Uint8Array | ArrayBuffer,
  merges: Uint8Array | ArrayBuffer,
  options?: LoadOptions,
): Promise<Tokenizer>;

/** How often and with what a training reports; return `false` to end it. */
export type Report = (stage: string, done: number, all: number) => boolean | void;

export interface TrainOptions {
  /** `unigram` (the default), `bpe`, `word` or `char`; any other option of `spm_train` by its name. */
  [option: string]: string | number | boolean | readonly string[];
}

export interface ByteTrainOptions {
  vocabSize: number;
  /** The name of a pattern or an expression; `gpt2` by default. */
  pattern?: string;
  /** Whose tokens and ids: `hf` (the library tokenizers, the default), `rustbpe` or `minbpe`. */
  tieOrder?: "hf" | "rustbpe" | "minbpe";
  specialTokens?: readonly string[];
}

/** Trains a SentencePiece model; returns the bytes of the `.model` file, equal to those of `spm_train`. */
export function train(text: string | Uint8Array, options?: TrainOptions, report?: Report): Promise<Uint8Array>;

/** Trains byte-level BPE; returns the bytes of the `tokenizer.json`. */
export function trainBytes(text: string | Uint8Array, options: ByteTrainOptions, report?: Report): Promise<Uint8Array>;

