"""Files of tokenizers in folders and in the cache of the Hugging Face Hub; nothing is fetched."""

from __future__ import annotations

import os
import pathlib


def _cache() -> pathlib.Path:
    for variable in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if os.environ.get(variable):
            return pathlib.Path(os.environ[variable]).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    home = os.environ.get("HF_HOME") or os.path.join(cache, "huggingface")
    return pathlib.Path(home).expanduser() / "hub"


def tokenizer_file(identifier: str, revision: str) -> pathlib.Path:
    """The ``tokenizer.json`` of a folder, or of a repository that is in the cache."""
    folder = pathlib.Path(identifier)
    if folder.is_dir():
        return folder / "tokenizer.json"
    repository = _cache() / ("models--" + identifier.replace("/", "--"))
    name = repository / "refs" / revision
    commit = name.read_text(encoding="utf-8").strip() if name.is_file() else revision
    file = repository / "snapshots" / commit / "tokenizer.json"
    if not file.is_file():
        raise FileNotFoundError(
            f"{identifier!r} is no folder, and {file} is not in the cache of the Hub; fetch it, for example with "
            f"huggingface_hub.hf_hub_download({identifier!r}, 'tokenizer.json', revision={revision!r})"
        )
    return file
