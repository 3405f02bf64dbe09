"""``spiece.Model`` and training."""

import os

from . import _native
from ._tokenizer import Tokenizer

__all__ = ["Model", "Trainer", "train"]


class Model:
    """A model: the content of a ``.model`` file. It does not change; methods that edit it return another model.

    >>> model = Model.open(model_path)
    >>> model.tokenizer().encode("Hello") == Tokenizer.open(model_path).encode("Hello")
    True
    """

    __slots__ = ("_bytes", "_tokenizer", "summary")

    def __init__(self, model):
        self._bytes = bytes(model)
        self._tokenizer = Tokenizer.from_bytes(self._bytes)
        self.summary = None

    @classmethod
    def open(cls, path):
        """Reads a model file."""
        self = cls.__new__(cls)
        self._tokenizer = Tokenizer.open(path)
        self._bytes = self._tokenizer.to_bytes()
        self.summary = None
        return self

    @classmethod
    def from_bytes(cls, model):
        """Reads the bytes of a model file."""
        return cls(model)

    def to_bytes(self):
        """The bytes of the model file."""
        return self._bytes

    def __reduce__(self):
        return (type(self), (self._bytes,))

    def __eq__(self, other):
        return isinstance(other, Model) and self._bytes == other._bytes

    def __hash__(self):
        return hash(self._bytes)

    def __len__(self):
        return len(self._tokenizer)

    def __repr__(self):
        return f"<spiece.Model: {self.model_type} with {len(self)} pieces>"

    @property
    def model_type(self):
        """The algorithm: 'bpe', 'unigram', 'word' or 'char'."""
        return self._tokenizer.model_type

    def tokenizer(self):
        """The tokenizer of the model."""
        return self._tokenizer

    def pieces(self):
        """All pieces: a list of (text, score, kind)."""
        return self._tokenizer.pieces()

    def inspect(self):
        """What the model consists of, and which pieces no text gives: a ``dict``.

        >>> report = Model.open(model_path).inspect()
        >>> report["model_type"], report["kinds"]["control"]
        ('bpe', 2)
        """
        return _native._inspect(self._tokenizer)

    def compare(self, other, texts):
        """Where this model and another differ on texts: a ``dict`` of counts.

        >>> model = Model.open(model_path)
        >>> model.compare(model, ["a", "b"])["equal_texts"]
        2
        """
        return _native._compare(self._tokenizer, other._tokenizer, texts)

    def edit(self, *steps, texts=None):
        """A model with changes, and a report: which ids moved, and which texts can have other ids.

        Steps are tuples: ``("add", text, kind)``, ``("insert", text, kind, id)``, ``("rename", old, new)``,
        ``("remove", text)``, ``("kind", text, kind)``, ``("special", role, text)``, ``("flag", name, value)``. The change is
        checked on ``texts``.

        >>> model, report = Model.open(model_path).edit(("add", "<sep>", "control"))
        >>> report["moved"], report["changes_no_text"]
        ([], True)
        """
        steps = [(name, [str(argument) for argument in arguments]) for name, *arguments in steps]
        return self._changed(_native._edit(self._tokenizer, steps, texts))

    def merge(self, other, *, drop_unreachable=False, allow_other_normalizer=False):
        """A model with the pieces of another one behind its own, and a report."""
        merged = _native._merge(self._tokenizer, other._tokenizer, drop_unreachable, allow_other_normalizer)
        return self._changed(merged)

    def prune(self, texts=None, *, size=None, keep_chars=True, unused_tail=False):
        """A model with the pieces that texts need, or with ``size`` pieces, and a report.

        >>> model, report = Model.open(model_path).prune(["the right to life"])
        >>> len(model) < 3000 and len(report["removed"]) > 1000
        True
        """
        return self._changed(_native._prune(self._tokenizer, texts, size, keep_chars, unused_tail))

    def extend(self, sentences, *, pieces=None, vocab_size=None, multiple_of=None, progress=None):
        """A BPE model that learned more pieces from other text, and a report. Ids stay.

        One of ``pieces``, ``vocab_size`` and ``multiple_of`` says how many pieces.

        >>> model, report = Model.open(model_path).extend(["spiece and spiece"], pieces=2)
        >>> len(report["learned"])
        2
        """
        sizes = {"pieces": pieces, "vocab_size": vocab_size, "multiple_of": multiple_of}
        given = [(rule, number) for rule, number in sizes.items() if number is not None]
        if len(given) != 1:
            raise TypeError("pass one of pieces, vocab_size and multiple_of")
        return self._changed(_native._extend(self._tokenizer, iter(sentences), given[0], progress))

    @staticmethod
    def _changed(change):
        serialized, report = change
        return Model(serialized), report

    def save(self, prefix):
        """Writes PREFIX.model and PREFIX.vocab: both or, if that fails, none."""
        _native._save_with_vocab(self._bytes, os.fspath(prefix))


class Trainer:
    """Options of training, by the names that ``spm_train`` has; ``model_type`` is ``'bpe'`` unless it is given.

    >>> trainer = Trainer(vocab_size=30, hard_vocab_limit=False)
    >>> len(trainer.train(["a pen", "an apple"])) <= 30
    True
    """

    def __init__(self, *, threads=None, normalizer=None, pretokenizer=None, **options):
        self._flags = {name: _flag(value) for name, value in options.items()}
        self._threads = threads
        self._normalizer = normalizer
        self._pretokenizer = pretokenizer

    def train(self, sentences=None, *, files=None, progress=None):
        """A model of the sentences of an iterable, or of the lines of files.

        ``progress`` is called with a ``dict`` for each step, about 20 times a second; ``progress=True`` shows a bar if
        ``tqdm`` is installed. Ctrl-C stops training.
        """
        if (sentences is None) == (files is None):
            raise TypeError("pass either sentences or files")
        if isinstance(sentences, (str, bytes)):
            raise TypeError("sentences: a text is no collection of sentences; pass [text], or files=[path]")
        flags = dict(self._flags)
        if files is not None:
            files = [files] if isinstance(files, (str, os.PathLike)) else files
            flags["input"] = _flag([os.fspath(path) for path in files])
        close = None
        if progress is True:
            progress, close = _bar()
        normalizer = self._normalizer
        if normalizer is not None and not isinstance(normalizer, bytes):
            normalizer = normalizer.serialized_normalizer_spec()
        request = {
            "flags": list(flags.items()),
            "sentences": None if sentences is None else iter(sentences),
            "pretokenizer": self._pretokenizer,
            "allow_inconsistent_pretokenization": False,
            "normalizer": normalizer,
            "progress": progress,
            "threads": self._threads,
            "for_schema": False,
        }
        try:
            serialized, summary = _native._train(request)
        finally:
            if close is not None:
                close()
        model = Model(serialized)
        model.summary = summary
        return model


def train(sentences=None, *, files=None, progress=None, **options):
    """A model of the sentences of an iterable, or of the lines of files; see :class:`Trainer` for the options.

    >>> model = train(["a pen", "an apple"], vocab_size=30, hard_vocab_limit=False)
    >>> model.model_type
    'bpe'
    """
    return Trainer(**options).train(sentences, files=files, progress=progress)


def _flag(value):
    from .sentencepiece._trainer import flag_value

    return flag_value(list(value) if isinstance(value, (tuple, set)) else value)


def _bar():
    """A callback that moves a bar of tqdm, and what closes the bar; without tqdm neither."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None, None
    bar = tqdm(unit="step")

    def move(event):
        if event["event"] == "started":
            bar.set_description(event["stage"])
            bar.reset()
        elif event["event"] == "merged":
            bar.total = event["wanted"]
            bar.n = event["done"]
            bar.refresh()
        elif event["event"] == "read":
            bar.total = event["total"]
            bar.n = event["bytes"]
            bar.refresh()

    return move, bar.close
