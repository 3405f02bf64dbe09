#!/usr/bin/env python3
"""Calls everything of the package tokenizers, or of the drop-in for it, and writes the results; tokenizers_surface.py
compares them.

Usage: tokenizers_probe.py MODULE FOLDER SEED CASES FILE...

FILE is a tokenizer.json, or a file with one in each line.
"""

import asyncio
import contextlib
import copy
import hashlib
import importlib
import io
import json
import os
import pathlib
import pickle
import random
import re
import sys

from recording import Recorder

module = importlib.import_module(sys.argv[1])
Tokenizer, Encoding, AddedToken = module.Tokenizer, module.Encoding, module.AddedToken

PIECES = [
    "Hello", " world", "the ", "a", "  ", "\n", "\t", "é", "e\u0301", "日本語", "🤗", "👩‍👩‍👧", "1234", "don't", "IT'S", "ß",
    "İ", "ﬁ", "\u00a0", "\u3000", "\u200b", "\0", "<s>", "</s>", "[CLS]", "[MASK]", "<|endoftext|>", "<mask>", " <mask> ", "[NEW]",
    "new word", "Straße", "अनुच्छेद", "คน", "مرحبا", "_", "##", "▁", "Ġ", "<0x0A>", ".", ",", "!", "...", "-", "x" * 30, "\ufeff",
    "\u0301", "\U0001f1e9\U0001f1ea", "ǅ", "\r\n",
]
SURROGATE = "a\ud83db"


def text(rng, most=60):
    """A text of the pieces that matter."""
    return "".join(rng.choices(PIECES, k=rng.choice([count for count in (0, 1, 2, 3, 5, 8, 20, 60) if count <= most])))


def words(rng, most=60):
    """A text that is cut into words."""
    return [text(rng, most) for _ in range(rng.choice([0, 1, 2, 3, 6]))]


def columns(encoding, depth=0):
    """Everything that an encoding knows."""
    length = len(encoding)
    every = [
        encoding.ids, encoding.type_ids, encoding.tokens, encoding.offsets, encoding.word_ids, encoding.sequence_ids,
        encoding.special_tokens_mask, encoding.attention_mask, encoding.n_sequences, length, repr(encoding),
    ]
    places = sorted({0, 1, 2, 5, length - 1, length, length + 1} - {-1})
    for sequence in (0, 1, 2):
        every.append([encoding.char_to_token(place, sequence) for place in places])
        every.append([encoding.char_to_word(place, sequence) for place in places])
        every.append([encoding.word_to_tokens(place, sequence) for place in places])
        every.append([encoding.word_to_chars(place, sequence) for place in places])
    for place in places:
        every.append(encoding.token_to_sequence(place) if place < length else None)
        every.append(encoding.token_to_chars(place) if place < length else None)
        every.append(encoding.token_to_word(place) if place < length else None)
    if depth < 3:
        # The parts of two texts are combined, each with each.
        parts = encoding.overflowing
        every.append([len(parts), *(columns(part, depth + 1) for part in [*parts[:3], *parts[3:][-2:]])])
    return every


def digest(value):
    """A short form of a large value."""
    shown = repr(value)
    return shown if len(shown) < 1500 else f"{hashlib.sha256(shown.encode('utf-8', 'replace')).hexdigest()} {shown[:300]}"


def files_of(path):
    """The texts of the files in a file."""
    content = pathlib.Path(path).read_text(encoding="utf-8")
    if not path.endswith(".jsonl"):
        return [content]
    rows = [json.loads(line) for line in content.splitlines()]
    return [json.dumps(row["file"], ensure_ascii=False) for row in rows if isinstance(row.get("file"), dict)]


def has_random_choice(file):
    """Whether the reference takes one of several added tokens at random: those that are equal after normalization."""
    tokens = [token for token in json.loads(file).get("added_tokens") or [] if token.get("normalized")]
    folded = [token["content"].casefold().strip() for token in tokens]
    return len(set(folded)) < len(folded)


def probe_encoding(call, label, rng, tokenizer, most=60):
    """Encoding in all forms."""
    first, second = text(rng, most), text(rng, most)
    call(f"{label} encode {first!r}", lambda: digest(columns(tokenizer.encode(first))))
    call(f"{label} pair {first!r} {second!r}", lambda: digest(columns(tokenizer.encode(first, second))))
    call(f"{label} bare {first!r}", lambda: digest(columns(tokenizer.encode(first, second, add_special_tokens=False))))
    given, other = words(rng, most), words(rng, most)
    call(f"{label} words {given!r}", lambda: digest(columns(tokenizer.encode(given, is_pretokenized=True))))
    call(
        f"{label} words {given!r} {other!r}",
        lambda: digest(columns(tokenizer.encode(tuple(given), other, is_pretokenized=True))),
    )
    batch = [first, (first, second), [second, first], second]
    for method in ("encode_batch", "encode_batch_fast"):
        call(f"{label} {method} {batch!r}", lambda: digest([columns(it) for it in getattr(tokenizer, method)(batch)]))
        call(
            f"{label} {method} words {given!r} {other!r}",
            lambda: digest([columns(it) for it in getattr(tokenizer, method)([given + ["a", "b"], (given, other)], True, False)]),
        )

    async def awaited(method, *arguments):
        return await getattr(tokenizer, method)(*arguments)

    call(f"{label} async_encode {first!r}", lambda: digest(columns(asyncio.run(awaited("async_encode", first, second)))))
    for method in ("async_encode_batch", "async_encode_batch_fast"):
        call(f"{label} {method} {batch!r}", lambda: digest([columns(it) for it in asyncio.run(awaited(method, batch))]))
    ids = tokenizer.encode(first, second).ids
    rng.shuffle(ids) if rng.random() < 0.3 else None
    for skips in (True, False):
        call(f"{label} decode {ids} {skips}", lambda: tokenizer.decode(ids, skip_special_tokens=skips))
        call(f"{label} decode_batch {ids} {skips}", lambda: tokenizer.decode_batch([ids, [], ids[1:]], skips))
    call(f"{label} async_decode_batch {ids}", lambda: asyncio.run(awaited("async_decode_batch", [ids, ids[:2]])))
    call(f"{label} decode unknown", lambda: tokenizer.decode([*ids[:2], 1 << 30, 4294967295]))

    def stream():
        made = module.decoders.DecodeStream(skip_special_tokens=rng.random() < 0.5)
        return [made.step(tokenizer, id) for id in ids]

    call(f"{label} stream {ids}", stream)


def probe_results(call, label, rng, tokenizer):
    """What is done to encodings."""
    first, second = text(rng, 3), text(rng, 2)

    def changed():
        one, two = tokenizer.encode(first, second), tokenizer.encode(second)
        results = []
        for growing in (True, False):
            merged = Encoding.merge([one, two, one], growing_offsets=growing)
            results.append(columns(merged))
        length = rng.randint(0, len(merged) + 1)
        stride = rng.randint(0, max(0, length - 1))
        merged.truncate(length, stride=stride, direction=rng.choice(["left", "right"]))
        results.append(columns(merged))
        merged.pad(length + 3, direction=rng.choice(["left", "right"]), pad_id=7, pad_type_id=2, pad_token="<p>")
        results.append(columns(merged))
        results.append(columns(pickle.loads(pickle.dumps(merged))))
        other = tokenizer.encode(second)
        other.set_sequence_id(rng.choice([0, 1, 5]))
        results.append(columns(other)[:10])
        results.append(columns(tokenizer.post_process(two)))
        # Of sequences that overlap, the reference finds one at random.
        results.append(columns(tokenizer.post_process(tokenizer.encode(first), two, False))[:10])
        # The reference writes and searches sequences in no certain order.
        results.append(json.dumps(json.loads(one.__getstate__()), sort_keys=True))
        return digest(results)

    state = rng.getstate()

    def repeated():
        rng.setstate(state)
        return changed()

    call(f"{label} changed {first!r} {second!r}", repeated)


def lengths(rng):
    """Settings of lengths at random."""
    truncation = {
        "max_length": rng.choice([0, 1, 2, 3, 4, 5, 8, 16]),
        "stride": rng.choice([0, 0, 0, 1, 2]),
        "strategy": rng.choice(["longest_first", "longest_first", "only_first", "only_second"]),
        "direction": rng.choice(["left", "right"]),
    }
    padding = {
        "direction": rng.choice(["left", "right"]),
        "pad_id": rng.choice([0, 3]),
        "pad_type_id": rng.choice([0, 1]),
        "pad_token": rng.choice(["[PAD]", "<pad>"]),
        "length": rng.choice([None, 4, 12]),
        "pad_to_multiple_of": rng.choice([None, None, 4, 0]),
    }
    return truncation if rng.random() < 0.8 else None, padding if rng.random() < 0.5 else None


def added_token(rng):
    """An added token with properties at random."""
    flags = {name: rng.random() < 0.4 for name in ("lstrip", "rstrip", "single_word", "normalized", "special")}
    return AddedToken(rng.choice(["[NEW]", "new word", "Hello", "<mask>", "a", "日", "_", "IT'S", "é"]), **flags)


def probe_file(call, label, rng, file, cases):
    """Everything of the tokenizer of a file."""
    call(f"{label} read", lambda: type(Tokenizer.from_str(file)).__name__)
    try:
        tokenizer = Tokenizer.from_str(file)
    except Exception:
        return
    call(f"{label} to_str", lambda: digest([tokenizer.to_str(), tokenizer.to_str(pretty=True)]))
    call(f"{label} repr", lambda: digest([repr(tokenizer), str(tokenizer)]))
    call(f"{label} from_buffer", lambda: digest(Tokenizer.from_buffer(file.encode()).to_str()))
    call(f"{label} vocab", lambda: digest([sorted(tokenizer.get_vocab(added).items()) for added in (True, False)]))
    call(f"{label} sizes", lambda: [tokenizer.get_vocab_size(), tokenizer.get_vocab_size(with_added_tokens=False)])
    call(f"{label} added", lambda: {id: repr(token) for id, token in tokenizer.get_added_tokens_decoder().items()})
    call(f"{label} special", lambda: [tokenizer.num_special_tokens_to_add(pair) for pair in (False, True)])
    call(f"{label} lengths", lambda: [tokenizer.truncation, tokenizer.padding])
    call(f"{label} ids", lambda: [tokenizer.id_to_token(id) for id in [*range(0, 60), 1000, 5000, 40000, 1 << 31]])
    call(f"{label} tokens", lambda: [tokenizer.token_to_id(piece) for piece in PIECES])
    for name in ("normalizer", "pre_tokenizer", "post_processor", "decoder", "model"):
        call(f"{label} {name}", lambda: digest(repr(getattr(tokenizer, name))))
    for label_of, again in (
        ("pickle", lambda: pickle.loads(pickle.dumps(tokenizer))),
        ("copy", lambda: copy.deepcopy(tokenizer)),
    ):
        given = text(rng)
        call(f"{label} {label_of} {given!r}", lambda: digest([again().to_str(), again().encode(given).tokens]))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    for number in range(cases):
        probe_encoding(call, f"{label} {number}", rng, tokenizer)
    for number in range(cases):
        truncation, padding = lengths(rng)

        def set_lengths():
            tokenizer.enable_truncation(**truncation) if truncation else tokenizer.no_truncation()
            tokenizer.enable_padding(**padding) if padding else tokenizer.no_padding()
            return [tokenizer.truncation, tokenizer.padding]

        call(f"{label} {number} set {truncation} {padding}", set_lengths)
        state = rng.getstate()
        with contextlib.suppress(BaseException):
            probe_encoding(call, f"{label} {number} {truncation} {padding}", rng, tokenizer, 5)
        rng.setstate(state)
        text(rng)
        with contextlib.suppress(BaseException):
            probe_results(call, f"{label} {number} {truncation} {padding}", rng, tokenizer)
        rng.seed(f"{label} {number}")
    tokenizer.no_truncation()
    tokenizer.no_padding()
    for number in range(max(1, cases // 2)):
        tokens = [added_token(rng) for _ in range(rng.choice([1, 2, 3]))]
        special = rng.random() < 0.4
        shown = f"{label} add {number} {tokens} {special}"

        def add():
            fresh = Tokenizer.from_str(file)
            method = fresh.add_special_tokens if special else fresh.add_tokens
            count = method([*tokens, "[NEW]", ""])
            fresh.encode_special_tokens = special
            given = text(random.Random(shown))
            after = fresh.encode(given, add_special_tokens=False)
            return digest([count, columns(after), fresh.decode(after.ids), fresh.get_vocab_size(), json.loads(fresh.to_str())["added_tokens"]])

        call(shown, add)
    given = text(rng)

    def component():
        fresh = Tokenizer.from_str(file)
        results = []
        fresh.normalizer = module.normalizers.Sequence([module.normalizers.NFD(), module.normalizers.StripAccents()])
        results.append(fresh.encode(given).ids)
        fresh.normalizer = None
        fresh.pre_tokenizer = module.pre_tokenizers.Metaspace()
        fresh.pre_tokenizer.prepend_scheme = "never"
        results.append(fresh.encode(given).ids)
        fresh.post_processor = module.processors.BertProcessing(("sep", 1), ("cls", 2))
        fresh.decoder = module.decoders.Fuse()
        results.append(columns(fresh.encode(given, given)))
        results.append(fresh.decode(fresh.encode(given).ids))
        return digest(results)

    call(f"{label} components {given!r}", component)


def probe_errors(call, file):
    """Wrong values and types."""
    tokenizer = Tokenizer.from_str(file)
    for name in ("from_str", "from_file", "from_buffer"):
        for value in ("", "{}", "[", "/nothing/there", b"{}", None, 5):
            call(f"{name}({value!r})", lambda: type(getattr(Tokenizer, name)(value)).__name__)
    for value in (None, 5, b"a", ["a"], ("a", "b"), SURROGATE, [["a"]], [SURROGATE], "a", {"a": 1}, [5]):
        for is_pretokenized in (False, True):
            call(f"encode({value!r}, {is_pretokenized})", lambda: columns(tokenizer.encode(value, is_pretokenized=is_pretokenized)))
            call(f"encode('a', {value!r})", lambda: columns(tokenizer.encode("a", value, is_pretokenized=is_pretokenized)))
            for method in ("encode_batch", "encode_batch_fast"):
                call(f"{method}({value!r})", lambda: [columns(it) for it in getattr(tokenizer, method)(value, is_pretokenized)])
                call(f"{method}([{value!r}])", lambda: [columns(it) for it in getattr(tokenizer, method)([value], is_pretokenized)])
    for value in (None, 5, "a", [1.5], [-1], [1 << 40], ["a"], (1, 2), range(3), [True], [[1]], iter([1])):
        label = "iterator" if "iterator" in repr(value) else repr(value)
        for method in ("decode", "decode_batch"):
            call(f"{method}({label})", lambda: getattr(tokenizer, method)(value))
        call(f"stream {label}", lambda: module.decoders.DecodeStream().step(tokenizer, value))
        call(f"id_to_token({label})", lambda: tokenizer.id_to_token(value))
        call(f"token_to_id({label})", lambda: tokenizer.token_to_id(value))
        call(f"add_tokens({label})", lambda: tokenizer.add_tokens(value))
        call(f"num_special_tokens_to_add({label})", lambda: tokenizer.num_special_tokens_to_add(value))
    for keywords in (
        {}, {"max_length": -1}, {"max_length": "a"}, {"max_length": 5, "stride": 5}, {"max_length": 5, "stride": 4},
        {"max_length": 5, "strategy": "x"}, {"max_length": 5, "direction": "x"}, {"max_length": 5, "unknown": 1},
        {"max_length": 5, "stride": None}, {"max_length": 1, "stride": 1},
    ):
        call(f"enable_truncation({keywords})", lambda: [tokenizer.enable_truncation(**keywords), tokenizer.truncation])
    for keywords in (
        {}, {"length": -1}, {"length": "a"}, {"direction": "x"}, {"pad_id": -1}, {"pad_token": 5}, {"max_length": 4},
        {"pad_to_multiple_of": -1}, {"unknown": 1}, {"length": None}, {"pad_id": 1 << 33},
    ):
        call(f"enable_padding({keywords})", lambda: [tokenizer.enable_padding(**keywords), tokenizer.padding])
    tokenizer.no_truncation()
    tokenizer.no_padding()
    encoding = tokenizer.encode("a b c")
    for name in ("char_to_token", "char_to_word", "token_to_chars", "token_to_word", "token_to_sequence", "word_to_chars", "word_to_tokens"):
        for value in (-1, None, "a", 1 << 70, 100, 0):
            call(f"{name}({value!r})", lambda: getattr(encoding, name)(value))
    for arguments in ((-1,), (2, 2), (2, 5), (3, 0, "up"), ("a",), (2, -1), (1, 1)):
        call(f"truncate{arguments}", lambda: tokenizer.encode("a b c d e f").truncate(*arguments))
    for keywords in ({"length": -1}, {"length": 9, "direction": "up"}, {"length": 9, "unknown": 1}, {"length": 9, "pad_id": "a"}):
        call(f"pad({keywords})", lambda: tokenizer.encode("a").pad(**keywords))
    call("set_sequence_id(-1)", lambda: encoding.set_sequence_id(-1))
    call("merge([1])", lambda: Encoding.merge([1]))
    call("merge([])", lambda: columns(Encoding.merge([])))
    call("Encoding()", lambda: columns(Encoding()))
    call("Tokenizer()", lambda: Tokenizer())
    call("Tokenizer(5)", lambda: Tokenizer(5))
    call("save", lambda: tokenizer.save("/nothing/there"))
    call("save(5)", lambda: tokenizer.save(5))
    for name in ("normalizer", "pre_tokenizer", "post_processor", "decoder", "model"):
        call(f"{name} = 5", lambda: setattr(tokenizer, name, 5))
    for name in ("truncation", "padding"):
        call(f"{name} = None", lambda: setattr(tokenizer, name, None))
    call("encode_special_tokens", lambda: setattr(tokenizer, "encode_special_tokens", 5))
    call("post_process(5)", lambda: tokenizer.post_process(5))


def main():
    """Calls everything."""
    folder, seed, cases, paths = sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:]
    recorder = Recorder()

    # The reference prints from its native module, too: what is printed is no result.
    results = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def call(label, function):
        rows = io.StringIO()
        with contextlib.redirect_stdout(rows):
            recorder.call(label, function)
        print(rows.getvalue().splitlines()[-1], file=results, flush=True)

    pathlib.Path(folder).mkdir(exist_ok=True)
    is_first = True
    for path in paths:
        name = pathlib.Path(path).stem
        for number, file in enumerate(files_of(path)):
            if has_random_choice(file) or re.search(r'"dropout": *0?\.[0-9]', file):
                continue
            if is_first:
                probe_errors(call, file)
                is_first = False
            probe_file(call, f"{name} {number}", random.Random(f"{seed} {name} {number}"), file, cases)
    if module.__name__ == "tokenizers":
        # Threads of the reference's asynchronous calls sometimes abort the interpreter that is ending.
        os._exit(0)


if __name__ == "__main__":
    main()
