"""The published vocabularies of tiktoken, where a folder has them."""

import hashlib
import pathlib
import shutil

_ENCODINGS = "https://openaipublic.blob.core.windows.net/encodings/{}"
_GPT2 = "https://openaipublic.blob.core.windows.net/gpt-2/encodings/main/{}"

#: The address that tiktoken fetches, for each file.
ADDRESSES = {
    **{f"{name}.tiktoken": _ENCODINGS.format(f"{name}.tiktoken") for name in ("r50k_base", "p50k_base", "cl100k_base", "o200k_base")},
    "gpt2-merges.txt": _GPT2.format("vocab.bpe"),
    "gpt2-vocab.json": _GPT2.format("encoder.json"),
}
#: The files of each encoding.
FILES = {
    "gpt2": ["gpt2-merges.txt", "gpt2-vocab.json"],
    "r50k_base": ["r50k_base.tiktoken"],
    "p50k_base": ["p50k_base.tiktoken"],
    "p50k_edit": ["p50k_base.tiktoken"],
    "cl100k_base": ["cl100k_base.tiktoken"],
    "o200k_base": ["o200k_base.tiktoken"],
    "o200k_harmony": ["o200k_base.tiktoken"],
}


def cached_name(file):
    """The name of a file in the folder that TIKTOKEN_CACHE_DIR names."""
    return hashlib.sha1(ADDRESSES[file].encode()).hexdigest()


def fill_cache(vocabularies, cache):
    """Copies the files of a folder, which are named as ``ADDRESSES`` says, to a folder for TIKTOKEN_CACHE_DIR."""
    cache.mkdir()
    for file in ADDRESSES:
        path = pathlib.Path(vocabularies, file)
        if path.is_file():
            shutil.copy(path, cache / cached_name(file))


def encodings_in(cache):
    """The encodings whose files are in a folder for TIKTOKEN_CACHE_DIR."""
    has = {file for file in ADDRESSES if pathlib.Path(cache, cached_name(file)).is_file()}
    return [name for name, files in FILES.items() if has.issuperset(files)]
