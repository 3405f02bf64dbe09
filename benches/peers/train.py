"""Trains a vocabulary with one of the peers: train.py PEER TEXT VOCAB_SIZE THREADS [OPTIONS as JSON].

THREADS is the number of threads of the peers; the options of SentencePiece have its own `num_threads`.

Each peer is called as its documentation recommends, with the pattern of GPT-4 if it splits text by a pattern. Only
`sentencepiece` trains the same vocabulary as spiece; it writes m.model and m.vocab into the current folder.
"""

import json
import os
import sys

GPT4 = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"

# The flags that spm_train records even if they are not given.
SPM_TRAIN = dict(
    input_format="", vocab_size=8000, character_coverage=0.9995, input_sentence_size=0, shuffle_input_sentence=True,
    seed_sentencepiece_size=1000000, seed_sentencepieces_file="", shrinking_factor=0.75, num_threads=16,
    num_sub_iterations=2, max_sentencepiece_length=16, max_sentence_length=4192, split_by_unicode_script=True,
    split_by_whitespace=True, split_by_number=True, split_digits=False, pretokenization_delimiter="",
    byte_fallback=False, auto_character_coverage=False, treat_whitespace_as_suffix=False,
    allow_whitespace_only_pieces=False, hard_vocab_limit=True, use_all_vocab=False, unk_id=0, bos_id=1, eos_id=2,
    pad_id=-1, unk_piece="<unk>", bos_piece="<s>", eos_piece="</s>", pad_piece="<pad>", unk_surface=" \u2047 ",
    required_chars="", vocabulary_output_piece_score=True, normalization_rule_name="nmt_nfkc",
    normalization_rule_tsv="", add_dummy_prefix=True, remove_extra_whitespaces=True, minloglevel=2,
)


def lines(text):
    with open(text, encoding="utf-8", errors="replace", newline="\n") as file:
        yield from file


def sentencepiece(text, vocab_size, threads, options):
    import sentencepiece as spm

    spm.SentencePieceTrainer.train(**{**SPM_TRAIN, **options})


def tokenizers(text, vocab_size, threads, options):
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    common = dict(vocab_size=vocab_size, special_tokens=["<unk>"], show_progress=False)
    if options["model_type"] == "unigram":
        tokenizer = Tokenizer(models.Unigram())
        trainer = trainers.UnigramTrainer(unk_token="<unk>", **common)
    else:
        tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>"))
        trainer = trainers.BpeTrainer(**common)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.train([text], trainer)


def youtokentome(text, vocab_size, threads, options):
    import youtokentome

    youtokentome.BPE.train(data=text, model="m.yttm", vocab_size=vocab_size, coverage=0.99995, n_threads=threads)


def rustbpe(text, vocab_size, threads, options):
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    import rustbpe

    rustbpe.Tokenizer().train_from_iterator(lines(text), vocab_size, pattern=GPT4)


def bpeasy(text, vocab_size, threads, options):
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    import bpeasy

    bpeasy.train_bpe(lines(text), GPT4, 16, vocab_size)


if __name__ == "__main__":
    peer, text, vocab_size, threads, *options = sys.argv[1:]
    globals()[peer](text, int(vocab_size), int(threads), json.loads(options[0]) if options else {})
