#!/usr/bin/env python3
"""Writes the byte-level vocabularies in `bytes/` with tokenizers 0.23.3, rustbpe 0.1.0 and tiktoken 0.14.0.

    pip install tokenizers==0.23.3 rustbpe==0.1.0 tiktoken==0.14.0 && python3 testdata/make_byte_level.py [--check]

tokenizers trains each vocabulary on `udhr_small.txt` and saves it (`NAME.json`). Where other formats can hold it,
tokenizers saves `NAME-vocab.json` and `NAME-merges.txt`, and tiktoken writes the ranks (`NAME.tiktoken`). rustbpe is
trained on the same lines, with its own pattern (`rustbpe.tiktoken`). With `--check`, nothing is written, and files that differ are listed.
"""

import sys
import tempfile
import types
from pathlib import Path

# tiktoken opens the file that it writes with this package, which is the same for local files.
sys.modules["blobfile"] = types.SimpleNamespace(BlobFile=open)

import rustbpe  # noqa: E402
from tiktoken.load import dump_tiktoken_bpe  # noqa: E402
from tokenizers import (  # noqa: E402
    AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers,
)

HERE = Path(__file__).parent
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")


def split(*components):
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return pre_tokenizers.Sequence([*components, byte_level])


# The pre-tokenizer, what else differs from a bare tokenizer, the special tokens, and the number of tokens.
CASES = {
    # The example of the documentation of tokenizers. `en` is also a merged token.
    "gpt2": (pre_tokenizers.ByteLevel(add_prefix_space=False), {"post_processor": processors.ByteLevel(trim_offsets=False)},
             ["<|endoftext|>", "<s>", "en"], 400),
    "llama3": (split(pre_tokenizers.Split(Regex(LLAMA3), "isolated")), {}, [], 360),
    "words": (split(pre_tokenizers.Split(Regex(r"\w+|[^\w\s]"), "removed", invert=True)), {}, ["«x y»"], 330),
    "prefix": (pre_tokenizers.ByteLevel(add_prefix_space=True), {"post_processor": processors.ByteLevel(trim_offsets=True)},
               [], 300),
    "digits": (split(pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.Split(Regex(r" ?\p{L}+"), "isolated")),
               {"normalizer": normalizers.NFC()}, [AddedToken("[MASK]", lstrip=True, normalized=True)], 300),
    "whole": (pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False), {}, [], 270),
}
# The vocabularies that other formats can hold.
OTHER_FORMATS = ["gpt2", "llama3", "whole"]


def byte_of():
    kept = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    moved = [byte for byte in range(256) if byte not in kept]
    return {**{chr(byte): byte for byte in kept}, **{chr(256 + at): byte for at, byte in enumerate(moved)}}


def files():
    """Names and contents."""
    for name, (pre_tokenizer, components, special, size) in CASES.items():
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizer
        tokenizer.decoder = decoders.ByteLevel()
        for component, value in components.items():
            setattr(tokenizer, component, value)
        tokenizer.train([str(HERE / "udhr_small.txt")], trainers.BpeTrainer(
            vocab_size=size, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False))
        yield f"{name}.json", tokenizer.to_str(pretty=True).encode()
        if name not in OTHER_FORMATS:
            continue
        with tempfile.TemporaryDirectory() as folder:
            for path in tokenizer.model.save(folder, name):
                yield Path(path).name, Path(path).read_bytes()
            spelling = byte_of()
            ranks = {bytes(spelling[char] for char in token): rank for token, rank in tokenizer.get_vocab().items()
                     if token not in special or token == "en"}
            dump_tiktoken_bpe(ranks, f"{folder}/ranks.tiktoken")
            yield f"{name}.tiktoken", Path(folder, "ranks.tiktoken").read_bytes()


    trained = rustbpe.Tokenizer()
    with open(HERE / "udhr_small.txt", encoding="utf-8", newline="\n") as lines:
        trained.train_from_iterator(lines, 400)
    with tempfile.TemporaryDirectory() as folder:
        ranks = {bytes(token): rank for token, rank in trained.get_mergeable_ranks()}
        dump_tiktoken_bpe(ranks, f"{folder}/ranks.tiktoken")
        yield "rustbpe.tiktoken", Path(folder, "ranks.tiktoken").read_bytes()


def main():
    folder = HERE / "bytes"
    folder.mkdir(exist_ok=True)
    differing = 0
    for name, content in files():
        path = folder / name
        if sys.argv[1:] != ["--check"]:
            path.write_bytes(content)
        elif not path.exists() or path.read_bytes() != content:
            print(f"{name} differs")
            differing += 1
    return min(differing, 1)


if __name__ == "__main__":
    sys.exit(main())
