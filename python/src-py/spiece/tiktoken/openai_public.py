"""The encodings of OpenAI: addresses, patterns and special tokens."""

from __future__ import annotations

from typing import Any

from .load import data_gym_to_mergeable_bpe_ranks, load_tiktoken_bpe

ENDOFTEXT = "<|endoftext|>"
FIM_PREFIX = "<|fim_prefix|>"
FIM_MIDDLE = "<|fim_middle|>"
FIM_SUFFIX = "<|fim_suffix|>"
ENDOFPROMPT = "<|endofprompt|>"

_FOLDER = "https://openaipublic.blob.core.windows.net"

#: The SHA-256 of each published file.
_HASHES = {
    "r50k_base": "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
    "p50k_base": "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}

#: GPT-2 and GPT-3, in the form of tiktoken.
r50k_pat_str = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"

_CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
_O200K = "|".join(
    [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)


def _ranks(name: str) -> dict[bytes, int]:
    return load_tiktoken_bpe(f"{_FOLDER}/encodings/{name}.tiktoken", expected_hash=_HASHES[name])


def gpt2() -> dict[str, Any]:
    """GPT-2: the ids of ``r50k_base``, from the files of GPT-2."""
    return {
        "name": "gpt2",
        "explicit_n_vocab": 50257,
        "pat_str": r50k_pat_str,
        "mergeable_ranks": data_gym_to_mergeable_bpe_ranks(
            vocab_bpe_file=f"{_FOLDER}/gpt-2/encodings/main/vocab.bpe",
            encoder_json_file=f"{_FOLDER}/gpt-2/encodings/main/encoder.json",
            vocab_bpe_hash="1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
            encoder_json_hash="196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
        ),
        "special_tokens": {ENDOFTEXT: 50256},
    }


def r50k_base() -> dict[str, Any]:
    """GPT-3."""
    return {
        "name": "r50k_base",
        "explicit_n_vocab": 50257,
        "pat_str": r50k_pat_str,
        "mergeable_ranks": _ranks("r50k_base"),
        "special_tokens": {ENDOFTEXT: 50256},
    }


def p50k_base() -> dict[str, Any]:
    """GPT-3 for code."""
    return {
        "name": "p50k_base",
        "explicit_n_vocab": 50281,
        "pat_str": r50k_pat_str,
        "mergeable_ranks": _ranks("p50k_base"),
        "special_tokens": {ENDOFTEXT: 50256},
    }


def p50k_edit() -> dict[str, Any]:
    """GPT-3 for edits."""
    return {
        "name": "p50k_edit",
        "pat_str": r50k_pat_str,
        "mergeable_ranks": _ranks("p50k_base"),
        "special_tokens": {ENDOFTEXT: 50256, FIM_PREFIX: 50281, FIM_MIDDLE: 50282, FIM_SUFFIX: 50283},
    }


def cl100k_base() -> dict[str, Any]:
    """GPT-3.5 and GPT-4."""
    return {
        "name": "cl100k_base",
        "pat_str": _CL100K,
        "mergeable_ranks": _ranks("cl100k_base"),
        "special_tokens": {
            ENDOFTEXT: 100257,
            FIM_PREFIX: 100258,
            FIM_MIDDLE: 100259,
            FIM_SUFFIX: 100260,
            ENDOFPROMPT: 100276,
        },
    }


def o200k_base() -> dict[str, Any]:
    """GPT-4o and later."""
    return {
        "name": "o200k_base",
        "pat_str": _O200K,
        "mergeable_ranks": _ranks("o200k_base"),
        "special_tokens": {ENDOFTEXT: 199999, ENDOFPROMPT: 200018},
    }


def o200k_harmony() -> dict[str, Any]:
    """gpt-oss: ``o200k_base`` with the tokens of its chats. Two special tokens have the id 200018."""
    named = {
        200002: "<|return|>",
        200003: "<|constrain|>",
        200005: "<|channel|>",
        200006: "<|start|>",
        200007: "<|end|>",
        200008: "<|message|>",
        200012: "<|call|>",
    }
    base = o200k_base()
    special = base["special_tokens"] | {"<|startoftext|>": 199998}
    special |= {named.get(id, f"<|reserved_{id}|>"): id for id in range(200000, 201088)}
    return base | {"name": "o200k_harmony", "special_tokens": special}


ENCODING_CONSTRUCTORS = {
    "gpt2": gpt2,
    "r50k_base": r50k_base,
    "p50k_base": p50k_base,
    "p50k_edit": p50k_edit,
    "cl100k_base": cl100k_base,
    "o200k_base": o200k_base,
    "o200k_harmony": o200k_harmony,
}
