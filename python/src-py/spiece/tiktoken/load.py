"""Vocabularies from files and addresses, which are fetched once.

The folder of fetched files is ``$TIKTOKEN_CACHE_DIR``, ``$DATA_GYM_CACHE_DIR`` or ``data-gym-cache`` in the folder for
temporary files; if the variable is empty, nothing is kept. A file's name there is the SHA-1 of its address, as in
tiktoken, so that both find the files of each other.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import tempfile
import uuid
from typing import Any

__all__ = [
    "check_hash",
    "data_gym_to_mergeable_bpe_ranks",
    "dump_tiktoken_bpe",
    "load_tiktoken_bpe",
    "read_file",
    "read_file_cached",
]


def read_file(blobpath: str) -> bytes:
    """The content of a file, or of an address: ``http`` and ``https``, and with ``blobfile`` others."""
    if "://" not in blobpath:
        with open(blobpath, "rb") as file:
            return file.read()
    if blobpath.startswith(("http://", "https://")):
        return _fetch(blobpath)
    content: bytes = _blobfile().read_bytes(blobpath)
    return content


def _fetch(address: str) -> bytes:
    try:
        import requests
    except ImportError:
        import urllib.request

        with urllib.request.urlopen(address) as response:
            content: bytes = response.read()
            return content
    answer = requests.get(address)
    answer.raise_for_status()
    fetched: bytes = answer.content
    return fetched


def _blobfile() -> Any:
    try:
        import blobfile
    except ImportError as error:
        raise ImportError(
            "blobfile is not installed. Please install it by running `pip install blobfile`."
        ) from error
    return blobfile


def check_hash(data: bytes, expected_hash: str) -> bool:
    """Whether data have this SHA-256."""
    return hashlib.sha256(data).hexdigest() == expected_hash


def read_file_cached(blobpath: str, expected_hash: str | None = None) -> bytes:
    """Like :func:`read_file`, but the content is kept, and taken from there if it has this SHA-256."""
    default = os.path.join(tempfile.gettempdir(), "data-gym-cache")
    given = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    folder = default if given is None else given
    if not folder:
        return read_file(blobpath)
    path = os.path.join(folder, hashlib.sha1(blobpath.encode()).hexdigest())
    if os.path.exists(path):
        with open(path, "rb") as file:
            kept = file.read()
        if expected_hash is None or check_hash(kept, expected_hash):
            return kept
        try:
            os.remove(path)
        except OSError:
            pass

    try:
        content = read_file(blobpath)
    except OSError as error:
        if "://" in blobpath:
            error.add_note(
                f"{blobpath} cannot be fetched. Without a network, put a copy of it at {path}; "
                "TIKTOKEN_CACHE_DIR names another folder for such files."
            )
        raise
    if expected_hash and not check_hash(content, expected_hash):
        raise ValueError(
            f"Hash mismatch for data downloaded from {blobpath} (expected {expected_hash}). "
            "This may indicate a corrupted download. Please try again."
        )
    try:
        os.makedirs(folder, exist_ok=True)
        temporary = f"{path}.{uuid.uuid4()}.tmp"
        with open(temporary, "wb") as file:
            file.write(content)
        os.rename(temporary, path)
    except OSError:
        # A folder that nobody named need not be writable.
        if given is not None:
            raise
    return content


def data_gym_to_mergeable_bpe_ranks(
    vocab_bpe_file: str,
    encoder_json_file: str,
    vocab_bpe_hash: str | None = None,
    encoder_json_hash: str | None = None,
    clobber_one_byte_tokens: bool = False,
) -> dict[bytes, int]:
    """The ranks of GPT-2's two files, which have to agree.

    With ``clobber_one_byte_tokens``, single bytes have the ids of the second file.
    """
    printable = [byte for byte in range(256) if chr(byte).isprintable() and chr(byte) != " "]
    others = [byte for byte in range(256) if byte not in printable]
    byte_of = {chr(byte): byte for byte in printable} | {chr(256 + n): byte for n, byte in enumerate(others)}

    def decoded(text: str) -> bytes:
        return bytes(byte_of[char] for char in text)

    ranks = {bytes([byte]): rank for rank, byte in enumerate(byte_of.values())}
    merges = read_file_cached(vocab_bpe_file, vocab_bpe_hash).decode()
    for rank, line in enumerate(merges.split("\n")[1:-1], start=len(ranks)):
        first, second = line.split()
        ranks[decoded(first) + decoded(second)] = rank

    vocabulary = json.loads(read_file_cached(encoder_json_file, encoder_json_hash))
    ids = {decoded(text): id for text, id in vocabulary.items()}
    for special in (b"<|endoftext|>", b"<|startoftext|>"):
        ids.pop(special, None)
    if clobber_one_byte_tokens:
        ranks.update((token, id) for token, id in ids.items() if len(token) == 1)
    assert ranks == ids
    return ranks


def dump_tiktoken_bpe(bpe_ranks: dict[bytes, int], tiktoken_bpe_file: str) -> None:
    """Writes ranks to a ``.tiktoken`` file; to an address with ``blobfile``."""
    by_rank = sorted(bpe_ranks.items(), key=lambda item: item[1])
    lines = b"".join(base64.b64encode(token) + b" " + str(rank).encode() + b"\n" for token, rank in by_rank)
    if "://" in tiktoken_bpe_file:
        file = _blobfile().BlobFile(tiktoken_bpe_file, "wb")
    else:
        file = open(tiktoken_bpe_file, "wb")
    with file:
        file.write(lines)


def load_tiktoken_bpe(tiktoken_bpe_file: str, expected_hash: str | None = None) -> dict[bytes, int]:
    """The ranks of a ``.tiktoken`` file, which has this SHA-256; fetched and kept if it is an address."""
    ranks = {}
    for line in read_file_cached(tiktoken_bpe_file, expected_hash).splitlines():
        if not line:
            continue
        try:
            token, rank = line.split()
            ranks[base64.b64decode(token)] = int(rank)
        except Exception as error:
            raise ValueError(f"Error parsing line {line!r} in {tiktoken_bpe_file}") from error
    return ranks
