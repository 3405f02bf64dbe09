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
    def _has_pipeline(self) -> bool: ...
    @property
    def _has_model(self) -> bool: ...
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
    def of_bytes(flags: _Flags) -> WordCounter:
        """A counter of the pretokens of byte-level BPE."""
    def __len__(self) -> int: ...
    def add_rows(self, bytes: Buffer, offsets: Buffer) -> None: ...
    def take_rows(self, with_options: bool) -> tuple[bytes, VectorBuffer, VectorBuffer]: ...

@final
class CountRows:
    """Rows of word counts."""

    def __new__(cls) -> Self: ...
    def add(self, bytes: Buffer, offsets: Buffer, counts: Buffer) -> None: ...

def _train(request: dict[str, Any]) -> tuple[bytes, dict[str, Any]]: ...
def _train_pipeline(request: dict[str, Any]) -> tuple[Tokenizer, dict[str, Any]]: ...
def _train_byte_counts(rows: CountRows, flags: _Flags, progress: _Progress) -> tuple[Tokenizer, dict[str, Any]]: ...
def _train_rustbpe(texts: Iterator[_Text], vocab_size: int, pattern: str) -> Tokenizer: ...
def _save_pipeline(tokenizer: Tokenizer, prefix: str | os.PathLike[str], format: str) -> None: ...
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


@final
class Encoding:
    """The tokens of one text or two, with everything that is known about them."""

    def __new__(cls) -> Self: ...
    def __len__(self) -> int: ...
    def __getstate__(self) -> bytes: ...
    def __setstate__(self, state: bytes) -> None: ...
    @staticmethod
    def merge(encodings: list[Encoding], growing_offsets: bool = True) -> Encoding:
        """Encodings one after another; their spans go on from each other unless growing_offsets is False."""
    @property
    def n_sequences(self) -> int:
        """The number of sequences."""
    def set_sequence_id(self, sequence_id: int) -> None:
        """Says that all tokens belong to a sequence."""
    @property
    def ids(self) -> list[int]:
        """The ids of the tokens."""
    @property
    def tokens(self) -> list[str]:
        """The texts of the tokens."""
    @property
    def words(self) -> list[int | None]:
        """The word of each token; deprecated, see word_ids."""
    @property
    def word_ids(self) -> list[int | None]:
        """The word of each token."""
    @property
    def sequence_ids(self) -> list[int | None]:
        """The sequence of each token."""
    @property
    def type_ids(self) -> list[int]:
        """The type of each token."""
    @property
    def offsets(self) -> list[tuple[int, int]]:
        """The span of each token in its text."""
    @property
    def special_tokens_mask(self) -> list[int]:
        """1 for each token that is no text."""
    @property
    def attention_mask(self) -> list[int]:
        """1 for each token that is no padding."""
    @property
    def overflowing(self) -> list[Encoding]:
        """What was cut off."""
    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """The tokens of a word: the first of them, and the one after the last."""
    def word_to_chars(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """The span of a word."""
    def token_to_sequence(self, token_index: int) -> int | None:
        """The sequence of a token."""
    def token_to_chars(self, token_index: int) -> tuple[int, int] | None:
        """The span of a token."""
    def token_to_word(self, token_index: int) -> int | None:
        """The word of a token."""
    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """The token at a place of a text."""
    def char_to_word(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """The word at a place of a text."""
    def pad(self, length: int, **kwargs: Any) -> None:
        """Fills the encoding up to a length."""
    def truncate(self, max_length: int, stride: int = 0, direction: str = "right") -> None:
        """Cuts the encoding to a length; what is cut off is its overflow."""

class TokenizerCore:
    """A tokenizer that is changed by its program."""

    def __new__(cls, json: bytes) -> Self: ...
    def _read(self, json: bytes) -> None: ...
    def _set_refresh(self, refresh: Callable[[], None] | None) -> None: ...
    def _component(self, name: str) -> str | None: ...
    def _set_component(self, name: str, json: str | None) -> None: ...
    def _model(self) -> str: ...
    def _set_model(self, json: str) -> None: ...
    def _add_tokens(self, tokens: list[tuple[str, bool, bool, bool, bool, bool]]) -> int: ...
    def _added_tokens(self) -> list[tuple[int, tuple[str, bool, bool, bool, bool, bool]]]: ...
    def _encode_ragged(
        self, input: Any, is_pretokenized: bool, add_special_tokens: bool
    ) -> tuple[VectorBuffer, VectorBuffer]: ...
    def _encode_bytes(self, sequence: Any, pair: Any, is_pretokenized: bool, add_special_tokens: bool) -> Encoding: ...
    def to_str(self, pretty: bool = False) -> str:
        """The tokenizer.json."""
    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """The number of special tokens around a text, or around two."""
    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """The tokens and their ids."""
    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """The number of tokens."""
    def enable_truncation(self, max_length: int, **kwargs: Any) -> None:
        """Cuts long texts from now on."""
    def no_truncation(self) -> None:
        """Cuts no text from now on."""
    @property
    def truncation(self) -> dict[str, Any] | None:
        """How long texts are cut, or None."""
    def enable_padding(self, **kwargs: Any) -> None:
        """Fills up short texts from now on."""
    def no_padding(self) -> None:
        """Fills up no text from now on."""
    @property
    def padding(self) -> dict[str, Any] | None:
        """How short texts are filled up, or None."""
    encode_special_tokens: bool
    def encode(
        self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Encoding:
        """The result of one text or two."""
    def encode_batch(
        self, input: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """The results of texts and pairs of texts."""
    def encode_batch_fast(
        self, input: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """Like encode_batch, without spans and texts of tokens."""
    def post_process(
        self, encoding: Encoding, pair: Encoding | None = None, add_special_tokens: bool = True
    ) -> Encoding:
        """Truncation, template and padding for encodings."""
    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """The text of ids."""
    def decode_batch(self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool = True) -> list[str]:
        """The text of each list of ids."""
    def token_to_id(self, token: str) -> int | None:
        """The id of a token, or None."""
    def id_to_token(self, id: int) -> str | None:
        """The token of an id, or None."""

@final
class DecodeStreamOfTokenizers:
    """Gives the text of ids as they come."""

    def __new__(cls, ids: Sequence[int] | None = None, skip_special_tokens: bool | None = False) -> Self: ...
    def step(self, tokenizer: TokenizerCore, id: int | Sequence[int]) -> str | None:
        """The text that the next id, or some, add; None if it is not certain yet."""
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: dict[int, Any], /) -> Self: ...
