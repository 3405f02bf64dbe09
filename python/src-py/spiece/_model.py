"""``spiece.Model`` and training."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, Self

from . import _native
from ._progress import Progress, callback
from ._tokenizer import HasTokenizer, Tokenizer
from ._training import flag_text, is_byte_level, request

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["Model", "Trainer", "train"]


class Model(HasTokenizer):
    """A model: the content of a ``.model`` file, a byte-level vocabulary or a ``tokenizer.json``. It does not change; methods that edit it return another model.

    ``summary`` has figures about the run for a model that was just trained, and is ``None`` for others.

    >>> model = Model.open(model_path)
    >>> model.tokenizer().encode("Hello") == Tokenizer.open(model_path).encode("Hello")
    True
    """

    __slots__ = ("summary",)

    summary: dict[str, Any] | None

    def __init__(self, model: str | os.PathLike[str] | Buffer | Model | Tokenizer) -> None:
        """The model of a path, of the bytes of a model file, or of a tokenizer."""
        self._tokenizer = Tokenizer(model)
        self.summary = None

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Reads a model file."""
        return cls(Tokenizer.open(path))

    @classmethod
    def from_bytes(cls, model: Buffer) -> Self:
        """Reads the bytes of a model file."""
        return cls(Tokenizer.from_bytes(model))

    @classmethod
    def _trained(cls, model: bytes | _native.Tokenizer, summary: dict[str, Any]) -> Self:
        self = cls(Tokenizer(model))
        self.summary = summary
        return self

    def to_bytes(self) -> bytes:
        """The bytes of the model file, or of a tokenizer.json for what is no SentencePiece model."""
        return self._tokenizer.to_bytes()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._tokenizer,), (None, {"summary": self.summary})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and self._tokenizer == other._tokenizer

    def __hash__(self) -> int:
        return hash(self._tokenizer)

    def __len__(self) -> int:
        return len(self._tokenizer)

    def __repr__(self) -> str:
        return f"<spiece.Model: {self.model_type} model with {len(self)} pieces>"

    @property
    def model_type(self) -> str:
        """The algorithm: 'bpe', 'unigram', 'word', 'char', 'byte_bpe', 'wordpiece' or 'word_level'."""
        return self._tokenizer.model_type

    def pieces(self) -> list[tuple[str, float, str]]:
        """All pieces: a list of (text, score, kind)."""
        return self._tokenizer.pieces()

    def inspect(self) -> dict[str, Any]:
        """What the model consists of, and which pieces no text gives: a ``dict``.

        For a byte-level vocabulary, ``only_whole`` has the tokens that are found only as whole pretokens, and ``undecided``
        those for which neither a text nor a proof that there is none was found.

        >>> report = Model.open(model_path).inspect()
        >>> report["model_type"], report["kinds"]["control"]
        ('bpe', 2)
        """
        return _native._inspect(self._tokenizer)

    def compare(self, other: Model | Tokenizer, texts: Iterable[str | bytes]) -> dict[str, Any]:
        """Where this model and another differ on texts: a ``dict`` of counts.

        >>> model = Model.open(model_path)
        >>> model.compare(model, ["a", "b"])["equal_texts"]
        2
        """
        return _native._compare(self._tokenizer, Tokenizer(other), texts)

    def edit(
        self, *steps: tuple[object, ...], texts: Iterable[str | bytes] | None = None
    ) -> tuple[Model, dict[str, Any]]:
        """A model with changes, and a report: which ids moved, and which texts can have other ids.

        Steps are tuples: ``("add", text, kind)``, ``("insert", text, kind, id)``, ``("rename", old, new)``,
        ``("remove", text)``, ``("kind", text, kind)``, ``("special", role, text)``, ``("flag", name, value)``. With
        ``texts``, the report says how many of them have the same pieces as before.

        >>> model, report = Model.open(model_path).edit(("add", "<sep>", "control"))
        >>> report["moved"], report["changes_no_text"]
        ([], True)
        """
        named = []
        for step in steps:
            if not isinstance(step, (tuple, list)) or not step:
                raise TypeError(f"steps: {step!r} is no tuple of the name of a step and its arguments")
            named.append((str(step[0]), [str(argument) for argument in step[1:]]))
        return self._changed(_native._edit(self._tokenizer, named, texts))

    def merge(
        self,
        other: Model | Tokenizer,
        *,
        drop_unreachable: bool = False,
        allow_other_normalizer: bool = False,
    ) -> tuple[Model, dict[str, Any]]:
        """A model with the pieces of another one after its own, and a report.

        Two byte-level vocabularies are merged as well: added tokens come last in the order of merges, so no text has more
        tokens than before. ``unreachable`` has the added tokens that no text gives; ``drop_unreachable`` leaves them out. Both
        have to cut text in the same way, unless ``allow_other_normalizer`` is true.

        >>> low, new = (train([text] * 2, model_type="byte_bpe", vocab_size=258) for text in ("low", "new"))
        >>> model, report = low.merge(new)
        >>> report["added"], model.tokenizer().encode("lownew")
        ([258, 259], [257, 259])
        """
        merged = _native._merge(self._tokenizer, Tokenizer(other), drop_unreachable, allow_other_normalizer)
        return self._changed(merged)

    def prune(
        self,
        texts: Iterable[str | bytes] | None = None,
        *,
        size: int | None = None,
        keep_chars: bool = True,
        unused_tail: bool = False,
    ) -> tuple[Model, dict[str, Any]]:
        """A model with the pieces that texts need, or with ``size`` pieces, and a report.

        A byte-level vocabulary keeps all bytes and special tokens, and the tokens of which a kept one is made. Ids have no gaps
        afterwards; ``removed`` and ``moved`` say what became of the old ones.

        >>> model, report = Model.open(model_path).prune(["the right to life"])
        >>> len(model) < 3000 and len(report["removed"]) > 1000
        True
        """
        return self._changed(_native._prune(self._tokenizer, texts, size, keep_chars, unused_tail))

    def extend(
        self,
        sentences: Iterable[str | bytes],
        *,
        pieces: int | None = None,
        vocab_size: int | None = None,
        multiple_of: int | None = None,
        special_tokens: Iterable[str] = (),
        reuse: Iterable[int] = (),
        min_frequency: int | None = None,
        max_token_length: int | None = None,
        threads: int | None = None,
        progress: Progress = None,
    ) -> tuple[Model, dict[str, Any]]:
        """A BPE model or byte-level vocabulary that learned more pieces from other text, and a report. Ids stay.

        ``pieces`` or ``vocab_size`` says how many pieces; ``multiple_of`` fills up with reserved pieces to a multiple, or
        alone asks for as many pieces as make the next one. ``special_tokens`` are added before what is learned: control pieces
        of a model. Learned pieces first take the ids of ``reuse``, which are those of special tokens, or of a model also of
        unused and user-defined pieces. ``progress`` and ``threads`` are those of :meth:`Trainer.train`.

        A byte-level vocabulary cuts the sentences by its pattern and leaves its special tokens out; line feeds at the ends of
        sentences are text. Only there are ``min_frequency``, how often a pair has to occur, and ``max_token_length``, which
        learned tokens have to be shorter than in bytes.

        >>> model, report = Model.open(model_path).extend(["spiece and spiece"], pieces=2)
        >>> len(report["learned"])
        2
        >>> model = train(["low lower"], model_type="byte_bpe", vocab_size=258)
        >>> model, report = model.extend(["new lower low"], pieces=1)
        >>> model.tokenizer().id_to_piece(report["learned"][0][0])
        ' low'
        """
        sizes = {"pieces": pieces, "vocab_size": vocab_size}
        given = [(rule, number) for rule, number in sizes.items() if number is not None]
        if not given and multiple_of is not None:
            given, multiple_of = [("multiple_of", multiple_of)], None
        if len(given) != 1:
            raise TypeError("pass one of pieces and vocab_size, or multiple_of")
        for name, texts in [("special_tokens", special_tokens), ("reuse", reuse)]:
            if isinstance(texts, (str, bytes)):
                raise TypeError(f"{name}: a text is no collection; pass a list")
        request = {
            "multiple_of": multiple_of,
            "special_tokens": list(special_tokens),
            "reuse": list(reuse),
            "min_frequency": min_frequency,
            "max_token_length": max_token_length,
            "threads": threads,
        }
        with callback(progress) as call:
            return self._changed(_native._extend(self._tokenizer, _sentences(sentences), given[0], request, call))

    @staticmethod
    def _changed(change: tuple[_native.Tokenizer, dict[str, Any]]) -> tuple[Model, dict[str, Any]]:
        tokenizer, report = change
        return Model(Tokenizer(tokenizer)), report

    def save(self, prefix: str | os.PathLike[str], *, format: str | None = None) -> None:
        """Writes PREFIX.model and PREFIX.vocab: both or, if that fails, none. What is no SentencePiece model is PREFIX.json.

        For a byte-level vocabulary, ``format`` is ``"tokenizer.json"`` (PREFIX.json, if it is not given), ``"tiktoken"``
        (PREFIX.tiktoken, which has neither pattern nor special tokens), ``"vocab-merges"`` (PREFIX-vocab.json and
        PREFIX-merges.txt), ``"tekken"`` (PREFIX-tekken.json), ``"minbpe"`` (PREFIX.model) or ``"gguf"`` (PREFIX.gguf).
        Others that were read from a ``tokenizer.json`` or trained like one have the first of these.
        """
        if format is not None or not self._tokenizer._has_model:
            _native._save_pipeline(self._tokenizer, prefix, format or "tokenizer.json")
        else:
            _native._save_with_vocab(self.to_bytes(), prefix)


def _sentences(sentences: Iterable[str | bytes]) -> Any:
    if isinstance(sentences, (str, bytes)):
        raise TypeError("sentences: a text is no collection of sentences; pass [text]")
    return iter(sentences)


class _Normalizer(Protocol):
    """A ``SentencePieceNormalizer``."""

    def serialized_normalizer_spec(self) -> bytes: ...


class Trainer:
    """Options of training, by the names that ``spm_train`` has; ``model_type`` is ``'bpe'`` unless it is given.

    :meth:`options` lists all. ``threads`` is the number of threads that run, on which no model depends; ``normalizer`` is a
    ``SentencePieceNormalizer`` or the bytes of its spec; ``pretokenizer`` divides a text into parts that no piece crosses.

    ``model_type="byte_bpe"`` is byte-level BPE, with ``pattern``, ``tie_order``, ``min_frequency``, ``max_token_length``,
    ``special_tokens``, ``split_special_tokens``, ``required_tokens`` (a list) and ``forbidden_tokens`` (a list of lines such
    as ``never_made ab``). Sentences are then taken as they are: line feeds at their ends are text.

    ``like`` is a SentencePiece model, or the path of one: what is no option of this call is as in that model, such as its
    normalization rules, its special pieces with their ids and the number of its pieces, but for what belongs to its corpus.
    What cannot be like it is a ``UserWarning``.

    ``like`` can also be a ``tokenizer.json`` with BPE or WordPiece: its path, that of its folder, or a tokenizer that was made
    of it. The result then has everything of it but the vocabulary and the merges. The options are ``vocab_size`` (that of
    ``like``, if it is not given), ``min_frequency``, ``special_tokens`` (further ones), ``limit_alphabet``,
    ``initial_alphabet``, ``continuing_subword_prefix``, ``end_of_word_suffix``, ``max_token_length``,
    ``split_special_tokens`` (true by default) and ``special_ids_first``, with the meaning that ``BpeTrainer``,
    ``WordPieceTrainer`` and ``train_new_from_iterator`` of the Hugging Face libraries give them. Sentences are taken as they
    are.

    >>> trainer = Trainer(vocab_size=30, hard_vocab_limit=False)
    >>> trainer
    <spiece.Trainer: vocab_size=30, hard_vocab_limit=False>
    >>> len(trainer.train(["a pen", "an apple"])) <= 30
    True
    >>> file = train(["low lower lowest"], model_type="byte_bpe", pattern="llama3", vocab_size=258).to_bytes()
    >>> new = Trainer(like=Tokenizer.from_bytes(file), special_tokens=["<|end|>"], vocab_size=260).train(["new newer newest"])
    >>> new.tokenizer().count(" new"), new.tokenizer().special_tokens
    (1, {'<|end|>': 0})
    """

    def __init__(
        self,
        *,
        threads: int | None = None,
        normalizer: _Normalizer | bytes | None = None,
        pretokenizer: Callable[[str], Iterable[str]] | None = None,
        like: Model | Tokenizer | str | os.PathLike[str] | None = None,
        **options: object,
    ) -> None:
        if like is not None and is_byte_level(options):
            raise TypeError("like: its model has the type that is trained; leave model_type='byte_bpe' out")
        self._options = options
        self._like = like
        self._threads = threads
        self._normalizer = normalizer
        self._pretokenizer = pretokenizer

    def __repr__(self) -> str:
        given = {"threads": self._threads, "normalizer": self._normalizer, "pretokenizer": self._pretokenizer, "like": self._like}
        shown = self._options | {name: value for name, value in given.items() if value is not None}
        return f"<spiece.Trainer: {', '.join(f'{name}={value!r}' for name, value in shown.items()) or 'defaults'}>"

    @staticmethod
    def options() -> dict[str, str]:
        """All options by name, with their descriptions and defaults.

        >>> Trainer.options()["vocab_size"]
        'Number of pieces, all kinds together (default: 8000)'
        """
        rows = _native._options()
        return {name: f"{text.rstrip('.')} (default: {default or 'empty'})" for name, text, default in rows}

    def train(
        self,
        sentences: Iterable[str | bytes] | None = None,
        *,
        files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = None,
        progress: Progress = None,
    ) -> Model:
        """A model of the sentences of an iterable, or of the lines of files.

        With ``json_field="text"`` the files are JSON Lines, and the lines of the texts in the field ``text`` are sentences;
        with ``document="record"`` each text is one sentence, with its line feeds. ``on_bad_record="skip"`` skips records
        without a text; ``summary["bad_records"]`` of the model is their number.

        ``progress`` is called with a ``dict`` for each step, about 20 times a second; ``progress=True`` shows a bar for
        each stage with ``tqdm``. Ctrl-C stops training.
        """
        if (sentences is None) == (files is None):
            raise TypeError("pass either sentences or files")
        if isinstance(sentences, (str, bytes)):
            raise TypeError("sentences: a text is no collection of sentences; pass [text], or files=[path]")
        like = None if self._like is None else Tokenizer(self._like)
        gives_pipeline = is_byte_level(self._options) if like is None else like._has_pipeline
        run: Callable[[dict[str, Any]], tuple[bytes | _native.Tokenizer, dict[str, Any]]]
        run = _native._train_pipeline if gives_pipeline else _native._train
        flags = flags_of(self._options, omits_none=gives_pipeline)
        if files is not None:
            paths = [files] if isinstance(files, (str, bytes, os.PathLike)) else files
            flags["input"] = flag_text([os.fsdecode(path) for path in paths])
        normalizer = self._normalizer
        if normalizer is not None and not isinstance(normalizer, bytes):
            normalizer = normalizer.serialized_normalizer_spec()
        with callback(progress) as call:
            trained = run(
                request(
                    flags,
                    sentences=None if sentences is None else iter(sentences),
                    pretokenizer=self._pretokenizer,
                    normalizer=normalizer,
                    progress=call,
                    threads=self._threads,
                    like=like,
                )
            )
        return Model._trained(*trained)


def train(
    sentences: Iterable[str | bytes] | None = None,
    *,
    files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = None,
    progress: Progress = None,
    threads: int | None = None,
    normalizer: _Normalizer | bytes | None = None,
    pretokenizer: Callable[[str], Iterable[str]] | None = None,
    like: Model | Tokenizer | str | os.PathLike[str] | None = None,
    **options: object,
) -> Model:
    """A model of the sentences of an iterable, or of the lines of files; see :class:`Trainer` for the options.

    >>> model = train(["a pen", "an apple"], vocab_size=30, hard_vocab_limit=False)
    >>> model.model_type
    'bpe'
    >>> model = train(["low lower lowest"], model_type="byte_bpe", vocab_size=259, special_tokens=["<|end|>"])
    >>> model.tokenizer().encode("low<|end|>", allowed_special="all")
    [258, 0]
    """
    trainer = Trainer(threads=threads, normalizer=normalizer, pretokenizer=pretokenizer, like=like, **options)
    return trainer.train(sentences, files=files, progress=progress)


def flags_of(options: Mapping[str, object], *, omits_none: bool) -> dict[str, str]:
    """Options as flags. Sets are sorted, since the order of symbols decides their ids. With ``omits_none``, ``None`` is an
    option that is not given."""
    flags = {}
    for name, value in options.items():
        if omits_none and value is None:
            continue
        if isinstance(value, (set, frozenset)):
            value = sorted(value)
        elif isinstance(value, os.PathLike):
            value = os.fspath(value)
        elif isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
            value = list(value)
        if name == "forbidden_tokens" and isinstance(value, list):
            value = "\n".join(str(line) for line in value)
        elif name == "initial_alphabet" and isinstance(value, list):
            value = "".join(str(character) for character in value)
        flags[name] = flag_text(value)
    return flags
