"""Code of a user, which `mypy --strict` has to accept; and the types that it sees."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any, assert_type

import spiece
import spiece.counts
import spiece.sentencepiece as spm
import spiece.tiktoken as tiktoken
import spiece.transformers


def token_ids(path: pathlib.Path, texts: list[str]) -> list[list[int]]:
    tokenizer = spiece.Tokenizer.open(path)
    return [tokenizer.encode(text, add_bos=True, allowed_special="all") for text in texts]


def batches(tokenizer: spiece.Tokenizer, texts: Iterator[str]) -> spiece.Ragged:
    batch = tokenizer.encode_ragged(texts, threads=2, allowed_special={"</s>"})
    assert_type(batch[0], list[int])
    assert_type(batch[1:], spiece.Ragged)
    assert_type(batch.ids_buffer, memoryview[int])
    assert_type(tokenizer.decode_ragged(batch), list[str])
    assert_type(tokenizer.decode_batch(batch), list[str])
    longest = max(batch, key=len)
    assert_type(longest, list[int])
    return batch[::2]


def mean_length(tokenizer: spiece.Tokenizer, texts: list[bytes]) -> float:
    ids, begins, ends = tokenizer.encode_spans(texts[0], unit="bytes")
    lengths = (ends - begins).tolist()
    assert ids.shape == begins.shape
    return float(tokenizer.count_batch(texts).mean()) + float(sum(lengths))


def padded(tokenizer: spiece.Tokenizer, texts: list[str]) -> list[list[int]]:
    assert_type(tokenizer.truncation, dict[str, Any] | None)
    batch = tokenizer.encode_ragged(texts)
    processed = tokenizer.post_process(batch, truncation=None, padding={"pad_id": tokenizer.pad_id or 0})
    assert_type(processed, list[spiece.ProcessedText])
    assert_type(processed[0].overflowing, list[spiece.ProcessedText])
    return [text.attention_mask for text in tokenizer.post_process([[1, 2]], padding=tokenizer.padding)]


def special(tokenizer: spiece.Tokenizer) -> int:
    eos = tokenizer.eos_id
    if eos is None:
        raise LookupError("no eos")
    return eos


def stream(tokenizer: spiece.Tokenizer, ids: list[int]) -> Iterator[str]:
    decoder = tokenizer.decode_stream()
    assert_type(decoder, spiece.DecodeStream)
    for id in ids:
        yield decoder.push(id)
    yield decoder.finish()


def show(event: dict[str, Any]) -> None:
    print(event["event"])


def trained(files: list[pathlib.Path]) -> spiece.Model:
    model = spiece.train(files=files, vocab_size=1000, model_type="unigram", progress=True)
    model = spiece.Trainer(vocab_size=1000, threads=2).train(["a pen"], progress=show)
    model, report = model.edit(("add", "<sep>", "control"), ("rename", "a", "b"), texts=["a"])
    assert_type(report, dict[str, Any])
    assert_type(model.tokenizer(), spiece.Tokenizer)
    model.save(pathlib.Path("mine"))
    return spiece.Model(model.to_bytes())


def byte_level(files: list[pathlib.Path], texts: Iterator[str]) -> spiece.Model:
    options: dict[str, Any] = {"pattern": "o200k", "special_tokens": ["<|end|>"]}
    model = spiece.train(texts, model_type="byte_bpe", vocab_size=1000, tie_order="rustbpe", **options)
    model.save("mine", format="tiktoken")
    model = spiece.train(["a pen"], like=model.tokenizer(), vocab_size=300, special_ids_first=True)
    return spiece.train(files=files, model_type="byte_bpe", min_frequency=2, max_token_length=None, document="file")


def caught(path: str) -> str | None:
    try:
        spiece.Tokenizer(path)
    except spiece.MissingFileError as error:
        assert_type(error.errno, int | None)
        return str(error.filename)
    except (OSError, spiece.SpieceError):
        pass
    return None


def drop_in(path: str) -> list[int]:
    sp = spm.SentencePieceProcessor(model_file=path)
    spm.SentencePieceTrainer.train(input="corpus.txt", model_prefix="m", vocab_size=40)
    ids: list[int] = sp.encode("Hello world")
    pieces: list[str] = sp.encode("Hello world", out_type=str)
    assert_type(sp.piece_to_id(pieces), list[int])
    assert_type(sp.piece_to_id("a"), int)
    assert_type(sp.id_to_piece(3), str)
    assert_type(sp.serialized_model_proto(), bytes)
    return ids


def with_tiktoken(ranks: dict[bytes, int], special: dict[str, int], texts: list[str]) -> list[list[int]]:
    encoding = tiktoken.Encoding("mine", pat_str=r"\w+|\W+", mergeable_ranks=ranks, special_tokens=special)
    assert_type(encoding.encode(texts[0], allowed_special={"<a>"}, disallowed_special=()), list[int])
    assert_type(encoding.decode_with_offsets([1, 2]), tuple[str, list[int]])
    assert_type(tiktoken.get_encoding("cl100k_base").encode_single_token(b"a"), int)
    total = int(encoding.encode_to_numpy(texts[0]).sum())
    return encoding.encode_batch(texts, allowed_special="all", num_threads=total % 8 + 1)


def counted(texts: list[str]) -> spiece.Model:
    return spiece.counts.train_counts(spiece.counts.count(texts), vocab_size=300)


def on_spiece(tokenizer: object, texts: list[str]) -> spiece.Ragged:
    with spiece.transformers.enable():
        assert_type(spiece.transformers.refusal(tokenizer), str | None)
    return spiece.transformers.to_spiece(tokenizer).encode_ragged(texts)
