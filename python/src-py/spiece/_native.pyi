"""The native module. Only :mod:`spiece` and :mod:`spiece.sentencepiece` use it."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, ClassVar, Literal, Self, final

from typing_extensions import Buffer

__version__: str

_Event = dict[str, Any]
_Progress = Callable[[_Event], object] | None
_Changed = tuple["Tokenizer", dict[str, Any]]
_Flags = list[tuple[str, str]]
_Text = str | bytes
_Allowed = Literal["all"] | Iterable[_Text] | None
_Lengths = Mapping[str, Any] | Literal["file"] | None

@final
class VectorBuffer:
    """A read-only array of numbers with the buffer protocol."""

    def __len__(self) -> int: ...
    def data_address(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

class ThreadPool:
    """A number of threads that calls can share: `ThreadPool(4)`."""

    def __new__(cls, num_threads: int) -> Self: ...
    def num_threads(self) -> int: ...

class Tokenizer:
    """Encodes and decodes with a model."""

    def __new__(cls, other: Tokenizer) -> Self: ...
    @classmethod
    def _of_file(
        cls, path: str | os.PathLike[str], pattern: str | None, special_tokens: dict[str, int] | None, lowercase: bool | None
    ) -> Self: ...
    @classmethod
    def _of_bytes(
        cls, model: bytes, pattern: str | None, special_tokens: dict[str, int] | None, lowercase: bool | None
    ) -> Self: ...
    @classmethod
    def _of_ranks(cls, ranks: dict[bytes, int], pattern: str, special_tokens: dict[str, int]) -> Self: ...
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    @property
    def vocab_size(self) -> int:
        """The number of pieces. Ids are below it."""
    @property
    def model_type(self) -> str:
        """The algorithm: 'bpe', 'unigram', 'word', 'char' or 'byte_bpe'."""
    @property
    def unk_id(self) -> int | None:
        """The id of the unknown piece, or None."""
    @property
    def bos_id(self) -> int | None:
        """The id of the piece for the beginning of a text, or None."""
    @property
    def eos_id(self) -> int | None:
        """The id of the piece for the end of a text, or None."""
    @property
    def pad_id(self) -> int | None:
        """The id of the piece for padding, or None."""
    @property
    def special_tokens(self) -> dict[str, int]:
        """The special tokens of a byte-level vocabulary, or the control pieces: ids by texts."""
    @property
    def truncation(self) -> dict[str, Any] | None:
        """How a tokenizer.json says that long texts are cut, or None; `post_process` does it."""
    @property
    def padding(self) -> dict[str, Any] | None:
        """How a tokenizer.json says that short texts are filled up, or None; `post_process` does it."""
    def to_bytes(self) -> bytes:
        """The bytes of the model file."""
    def encode(
        self,
        text: _Text,
        *,
        add_bos: bool = False,
        add_eos: bool = False,
        allowed_special: _Allowed = None,
        refuse_special: bool = False,
        user_defined_symbols: bool = True,
    ) -> list[int]:
        """The ids of a text, as a list.

        `allowed_special` names control pieces or special tokens that the text may contain, or is "all";
        `refuse_special=True` refuses a text with others, which are ordinary text otherwise;
        `user_defined_symbols=False` takes user-defined symbols in untrusted text as ordinary text.
        """
    def encode_batch(
        self,
        texts: Iterable[_Text],
        *,
        threads: int | None = None,
        add_bos: bool = False,
        add_eos: bool = False,
        allowed_special: _Allowed = None,
        refuse_special: bool = False,
        user_defined_symbols: bool = True,
    ) -> list[list[int]]:
        """The ids of each text, as a list of lists, made on `threads` threads (None: all cores)."""
    def _encode_ragged(
        self,
        texts: Iterable[_Text],
        *,
        threads: int | None = None,
        add_bos: bool = False,
        add_eos: bool = False,
        allowed_special: _Allowed = None,
        refuse_special: bool = False,
        user_defined_symbols: bool = True,
    ) -> tuple[VectorBuffer, VectorBuffer]: ...
    def _encode_arrow(
        self, data: Buffer, offsets: Buffer, threads: int | None
    ) -> tuple[VectorBuffer, VectorBuffer]: ...
    def _encode_spans(
        self, text: _Text, in_bytes: bool, allowed_special: _Allowed, refuse_special: bool
    ) -> tuple[VectorBuffer, VectorBuffer, VectorBuffer]: ...
    def count(self, text: _Text) -> int:
        """The number of ids of a text."""
    def _count_batch(self, texts: Iterable[_Text], *, threads: int | None = None) -> VectorBuffer: ...
    def tokenize(self, text: _Text) -> list[str]:
        """The pieces of a text, as `str`."""
    def word_ids(
        self,
        text: _Text,
        *,
        allowed_special: _Allowed = None,
        refuse_special: bool = False,
        user_defined_symbols: bool = True,
    ) -> list[int | None]:
        """For each token, the number of the part of the pre-tokenizer that it belongs to, from 0.

        An added token is a part. None for models without parts, such as `.model` files.
        """
    def encode_segments(
        self,
        segments: Iterable[tuple[_Text, _Allowed] | tuple[_Text, _Allowed, bool]],
        *,
        add_bos: bool = False,
        add_eos: bool = False,
        refuse_special: bool = False,
    ) -> list[int]:
        """The ids of one text that is given in segments, each with its own special tokens.

        A segment is `(text, allowed_special)` or `(text, allowed_special, user_defined_symbols)`, as in `encode`:
        for a chat, "all" for text of the template and None for text of users. The ids are those of the whole text
        in which only the tokens are found that are inside of a segment that allows them.
        """
    def _post_process(
        self,
        batch: Iterable[Iterable[int] | Buffer] | Buffer,
        add_special_tokens: bool,
        truncation: _Lengths,
        padding: _Lengths,
    ) -> list[tuple[list[int], list[int], list[int], list[Any]]]: ...
    def encode_stream(
        self, *, allowed_special: _Allowed = None, refuse_special: bool = False, user_defined_symbols: bool = True
    ) -> EncodeStream:
        """An encoder of a text that grows at its end."""
    def decode(
        self, ids: int | Iterable[int] | Buffer, *, errors: str = "replace", skip_special_tokens: bool = False
    ) -> str:
        """The text of ids. `errors` is that of `bytes.decode`, for ids whose bytes are not UTF-8.

        `skip_special_tokens=True` leaves out the text of special tokens.
        """
    def decode_bytes(self, ids: int | Iterable[int] | Buffer) -> bytes:
        """The bytes of ids."""
    def decode_batch(
        self,
        batch: Iterable[Iterable[int] | Buffer] | Buffer,
        *,
        threads: int | None = None,
        skip_special_tokens: bool = False,
    ) -> list[str]:
        """The text of each sequence of ids, or of each row of an array.

        `skip_special_tokens=True` leaves out the text of special tokens.
        """
    def _decode_ragged(
        self,
        ids: Buffer | Sequence[int],
        offsets: Buffer | Sequence[int],
        threads: int | None,
        skip_special_tokens: bool,
    ) -> list[str]: ...
    def decode_stream(self, *, skip_special_tokens: bool = False) -> DecodeStream:
        """A decoder that takes ids one by one.

        `skip_special_tokens=True` leaves out the text of special tokens.
        """
    def normalize(self, text: _Text) -> str:
        """The normalized text: what is split into pieces."""
    def id_to_piece(self, id: int) -> str:
        """The text of a piece. For one that is not UTF-8, see `id_to_bytes`."""
    def id_to_bytes(self, id: int) -> bytes:
        """The bytes of a piece."""
    def piece_to_id(self, piece: _Text) -> int | None:
        """The id of a piece, or None if the model has no such piece."""
    def pieces(self) -> list[tuple[str, float, str]]:
        """All pieces: a list of (text, score, kind)."""
    def sample(
        self, text: _Text, *, alpha: float = 0.1, nbest_size: int = -1, seed: int | None = None
    ) -> list[int]:
        """The ids of a random segmentation, for subword regularization in training."""
    def nbest(self, text: _Text, size: int) -> list[tuple[list[int], float]]:
        """The best segmentations of a unigram model, at most `size`: a list of (ids, score)."""

@final
class DecodeStream:
    """Decodes ids one by one. The parts that `push` and `finish` return make up the decoded text."""

    def push(self, id: int) -> str:
        """Takes an id and returns the text that is now certain, which may be ''."""
    def finish(self) -> str:
        """Ends the text and returns what was held back. The stream is then ready for another text."""

@final
class EncodeStream:
    """Encodes a text that grows at its end. After each `push`, the ids are those of the whole text."""

    def push(self, text: _Text) -> tuple[int, list[int]]:
        """Appends text. Returns how many of the ids before stay, and the ids after them."""
    @property
    def ids(self) -> list[int]:
        """The ids of the text so far."""
    def clear(self) -> None:
        """Begins another text."""
    def __len__(self) -> int: ...

@final
class CoreBPE:
    """Encodes and decodes with a byte-level vocabulary."""

    def __new__(cls, encoder: dict[bytes, int], special_tokens_encoder: dict[str, int], pattern: str) -> Self: ...
    def encode_ordinary(self, text: str) -> list[int]:
        """The ids of a text without special tokens."""
    def encode(self, text: str, allowed_special: AbstractSet[str]) -> list[int]:
        """The ids of a text, in which these special tokens are found."""
    def encode_to_tiktoken_buffer(self, text: str, allowed_special: AbstractSet[str]) -> VectorBuffer:
        """Like `encode`, as an array of 32 bits."""
    def _encode_bytes(self, bytes: bytes) -> list[int]: ...
    def encode_with_unstable(
        self, text: str, allowed_special: AbstractSet[str]
    ) -> tuple[list[int], list[list[int]]]:
        """The ids of a text up to where they are certain, and the ids of the rest with what can follow it."""
    def encode_single_token(self, piece: bytes) -> int:
        """The id of a token, or of a special one."""
    def encode_single_piece(self, piece: bytes) -> list[int]:
        """The ids of one pretoken."""
    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """The bytes of ids."""
    def decode_single_token_bytes(self, token: int) -> bytes:
        """The bytes of a token, or of a special one."""
    def token_byte_values(self) -> list[bytes]:
        """The bytes of all tokens that are not special, in their order."""
    def _find_special(self, text: str, allowed_special: AbstractSet[str]) -> str | None: ...
    def _encode_batch(
        self, texts: list[str], num_threads: int, allowed_special: AbstractSet[str], refuses: bool
    ) -> list[list[int]]: ...

class Processor:
    """A model and the defaults of calls; the base of `spiece.sentencepiece.SentencePieceProcessor`."""

    _setting_names: ClassVar[list[str]]
    def __new__(cls, *_args: Any, **_kwargs: Any) -> Self: ...
    def _configure(self, values: tuple[Any, ...]) -> None: ...
    def _setting(self, place: int) -> Any: ...
    def _set_setting(self, place: int, value: Any) -> None: ...
    def _load_file(self, path: str | os.PathLike[str]) -> bool: ...
    def _load_bytes(self, serialized: bytes) -> bool: ...
    def _encode(
        self,
        input: Any,
        add_bos: Any = None,
        add_eos: Any = None,
        reverse: Any = None,
        emit_unk_piece: Any = None,
        enable_sampling: Any = None,
        nbest_size: Any = None,
        alpha: Any = None,
        num_threads: Any = None,
        thread_pool: Any = None,
        return_type: Any = None,
        out_type: Any = None,
        return_bytes: Any = None,
    ) -> Any: ...
    def _encode_ids(self, input: Any, **kwargs: Any) -> Any: ...
    def _encode_pieces(self, input: Any, **kwargs: Any) -> Any: ...
    def _encode_as(self, input: Any, return_type: Any, samples: bool, /, **kwargs: Any) -> Any: ...
    def _encode_parallel(self, input: Any, return_type: Any, /, **kwargs: Any) -> Any: ...
    def _nbest(self, input: Any, nbest_size: Any, return_type: Any, /, **kwargs: Any) -> Any: ...
    def _sample_with_scores(self, input: Any, numbers: Any, /, **kwargs: Any) -> Any: ...
    def _entropy(self, input: Any, alpha: Any, num_threads: Any = None, /) -> Any: ...
    def _decode(
        self,
        input: Any,
        return_type: Any = None,
        out_type: Any = None,
        num_threads: Any = None,
        thread_pool: Any = None,
        return_bytes: Any = None,
    ) -> Any: ...
    def _decode_batch(
        self, batch: Any, return_type: Any, num_threads: int, thread_pool: Any, return_bytes: bool = False
    ) -> Any: ...
    def _normalize(self, input: Any, with_offsets: bool | None = None) -> Any: ...
    def _piece_size(self) -> int: ...
    def _piece_to_id(self, piece: Any) -> Any: ...
    def _id_to_piece(self, id: Any) -> Any: ...
    def _score(self, id: Any) -> Any: ...
    def _is_unknown(self, id: Any) -> Any: ...
    def _is_control(self, id: Any) -> Any: ...
    def _is_unused(self, id: Any) -> Any: ...
    def _is_byte(self, id: Any) -> Any: ...
    def _unk_id(self) -> int: ...
    def _bos_id(self) -> int: ...
    def _eos_id(self) -> int: ...
    def _pad_id(self) -> int: ...
    def _serialized(self) -> bytes: ...
    def _set_encode_extra(self, options: str) -> bool: ...
    def _set_decode_extra(self, options: str) -> bool: ...
    def _restrict(self, pieces: Sequence[str]) -> bool: ...
    def _unrestrict(self) -> bool: ...
    def _override_normalizer(self, flags: _Flags) -> bool: ...
    def _tokenizer(self) -> Tokenizer: ...

class Normalizer:
    """The base of `spiece.sentencepiece.SentencePieceNormalizer`."""

    def __new__(cls, *_args: Any, **_kwargs: Any) -> Self: ...
    def _load_file(self, path: str | os.PathLike[str]) -> bool: ...
    def _load_model(self, model: bytes) -> bool: ...
    def _load_spec(self, spec: bytes) -> bool: ...
    def _load_tsv(self, path: str | os.PathLike[str]) -> bool: ...
    def _load_name(self, name: str) -> bool: ...
    def _load_map(self, rules: Sequence[tuple[str, str]]) -> bool: ...
    def _set_flag(self, name: str, value: bool) -> bool: ...
    def _rules(self) -> list[tuple[str, str]]: ...
    def _serialized(self) -> bytes: ...
    def _serialized_spec(self) -> bytes: ...
    def _normalize(self, input: Any, with_offsets: bool | None = None) -> Any: ...

@final
class WordCounter:
    """Counts the words, or the pretokens, of rows."""

    def __new__(cls, flags: _Flags) -> Self: ...
    @staticmethod
    def of_bytes(flags: _Flags, part: int) -> WordCounter:
        """A counter of the pretokens of byte-level BPE; for the order of minbpe also of the places of their first occurrences,
        if the rows are this part of the corpus."""
    def __len__(self) -> int: ...
    def add_rows(self, bytes: Buffer, offsets: Buffer) -> None: ...
    def take_rows(self, with_options: bool) -> tuple[bytes, VectorBuffer, VectorBuffer, VectorBuffer | None]: ...

@final
class CountRows:
    """Rows of word counts."""

    def __new__(cls, has_places: bool) -> Self: ...
    def add(self, bytes: Buffer, offsets: Buffer, counts: Buffer, places: Buffer | None) -> None: ...

def _train(request: dict[str, Any]) -> tuple[bytes, dict[str, Any]]: ...
def _train_byte_bpe(request: dict[str, Any]) -> tuple[Tokenizer, dict[str, Any]]: ...
def _train_byte_counts(rows: CountRows, flags: _Flags, progress: _Progress) -> tuple[Tokenizer, dict[str, Any]]: ...
def _train_rustbpe(texts: Iterator[_Text], vocab_size: int, pattern: str) -> Tokenizer: ...
def _save_byte_level(tokenizer: Tokenizer, prefix: str | os.PathLike[str], format: str) -> None: ...
def _train_counts(rows: CountRows, flags: _Flags, progress: _Progress) -> tuple[bytes, dict[str, Any]]: ...
def _options() -> list[tuple[str, str, str]]: ...
def _save_with_vocab(model: bytes, prefix: str | os.PathLike[str]) -> None: ...
def _edit(tokenizer: Tokenizer, steps: Sequence[tuple[str, Sequence[str]]], texts: Iterable[_Text] | None) -> _Changed: ...
def _merge(
    tokenizer: Tokenizer, second: Tokenizer, drop_unreachable: bool, allow_other_normalizer: bool
) -> _Changed: ...
def _prune(
    tokenizer: Tokenizer, texts: Iterable[_Text] | None, size: int | None, keep_chars: bool, unused_tail: bool
) -> _Changed: ...
def _extend(
    tokenizer: Tokenizer,
    sentences: Iterator[_Text],
    size: tuple[str, int],
    request: dict[str, Any],
    progress: _Progress,
) -> _Changed: ...
def _inspect(tokenizer: Tokenizer) -> dict[str, Any]: ...
def _compare(first: Tokenizer, second: Tokenizer, texts: Iterable[_Text]) -> dict[str, Any]: ...
def _set_seed(seed: int) -> None: ...
def _set_nbest_timeout(milliseconds: int) -> None: ...
