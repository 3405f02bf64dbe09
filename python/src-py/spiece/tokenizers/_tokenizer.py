"""``Tokenizer``: the native class with what needs Python: components as objects, training, awaitable calls."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from spiece._native import TokenizerCore
from spiece._tokenizer import Ragged

from . import _components, _hub, _installed, _repr

T = TypeVar("T")


def _in_thread(function: Callable[..., T], *arguments: Any) -> asyncio.Future[T]:
    """The result of a call on another thread, to be awaited."""
    return asyncio.get_running_loop().run_in_executor(None, functools.partial(function, *arguments))


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"argument '{name}': '{type(value).__name__}' object cannot be cast as 'str'")
    return value


def _of_json(cls: type[Tokenizer], json: bytes) -> Tokenizer:
    """Pickles call it."""
    return TokenizerCore.__new__(cls, json)


class Tokenizer(TokenizerCore):
    """Encodes texts and decodes ids, as ``tokenizers.Tokenizer``."""

    def __new__(cls, model: Any) -> Tokenizer:
        return _of_json(cls, _components.file_of(_components.json_of("model", model)).encode())

    # Reading and writing

    @staticmethod
    def from_str(json: str) -> Tokenizer:
        """The tokenizer of the text of a ``tokenizer.json``."""
        return _of_json(Tokenizer, _text(json, "json").encode())

    @staticmethod
    def from_file(path: str) -> Tokenizer:
        """The tokenizer of a file."""
        try:
            with open(_text(path, "path"), "rb") as file:
                content = file.read()
        except OSError as error:
            raise Exception(f"{error.strerror} (os error {error.errno})") from None
        return _of_json(Tokenizer, content)

    @staticmethod
    def from_buffer(buffer: bytes) -> Tokenizer:
        """The tokenizer of the bytes of a file."""
        if not isinstance(buffer, bytes):
            raise TypeError(f"argument 'buffer': '{type(buffer).__name__}' object cannot be cast as 'bytes'")
        try:
            return _of_json(Tokenizer, buffer)
        except Exception as error:
            raise ValueError(f"Cannot instantiate Tokenizer from buffer: {error}") from None

    @staticmethod
    def from_pretrained(identifier: str, revision: str = "main", token: str | None = None) -> Tokenizer:
        """The tokenizer of a folder, or of a repository in the cache of the Hub; nothing is fetched."""
        return Tokenizer.from_file(str(_hub.tokenizer_file(_text(identifier, "identifier"), revision)))

    def save(self, path: str, pretty: bool = True) -> None:
        """Writes the ``tokenizer.json``."""
        content = self.to_str(pretty=pretty)
        try:
            with open(_text(path, "path"), "w", encoding="utf-8", newline="\n") as file:
                file.write(content)
        except OSError as error:
            raise Exception(f"{error.strerror} (os error {error.errno})") from None

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_json, (type(self), self.__getstate__())

    def __getstate__(self) -> bytes:
        return self.to_str().encode()

    def __setstate__(self, state: bytes) -> None:
        self._read(state)

    def __repr__(self) -> str:
        return _repr.text_of(self.to_str(), _repr.REPR)

    def __str__(self) -> str:
        return _repr.text_of(self.to_str(), _repr.STR)

    # Components

    def _lent(self) -> _components.Lent:
        lent = self.__dict__.get("_lent_components")
        if lent is None:
            lent = self.__dict__["_lent_components"] = _components.Lent(self)
        return lent

    def _refresh(self) -> None:
        """Called before each call, while components are lent."""
        if not self._lent().refresh():
            self._set_refresh(None)

    def _take(self, name: str, json: str | None) -> None:
        """Sets a component."""
        if name != "model":
            self._set_component(name, json)
        elif json is not None:
            self._set_model(json)

    def _get_component(self, name: str) -> Any:
        lent = self._lent()
        component = lent.get(name)
        if component is None:
            json = self._model() if name == "model" else self._component(name)
            if json is None:
                return None
            component = _components.object_of(name, json)
            lent.keep(name, component)
            self._set_refresh(self._refresh)
        return component

    def _replace_component(self, name: str, component: Any) -> None:
        if component is None and name == "model":
            raise TypeError("argument 'model': 'NoneType' object cannot be cast as 'Model'")
        self._take(name, None if component is None else _components.json_of(name, component))
        self._lent().keep(name, component)
        self._set_refresh(self._refresh)

    @property
    def model(self) -> Any:
        """The model, an object of the package tokenizers."""
        return self._get_component("model")

    @model.setter
    def model(self, model: Any) -> None:
        self._replace_component("model", model)

    @property
    def normalizer(self) -> Any:
        """The normalizer, an object of the package tokenizers, or None."""
        return self._get_component("normalizer")

    @normalizer.setter
    def normalizer(self, normalizer: Any) -> None:
        self._replace_component("normalizer", normalizer)

    @property
    def pre_tokenizer(self) -> Any:
        """The pre-tokenizer, an object of the package tokenizers, or None."""
        return self._get_component("pre_tokenizer")

    @pre_tokenizer.setter
    def pre_tokenizer(self, pre_tokenizer: Any) -> None:
        self._replace_component("pre_tokenizer", pre_tokenizer)

    @property
    def post_processor(self) -> Any:
        """The post-processor, an object of the package tokenizers, or None."""
        return self._get_component("post_processor")

    @post_processor.setter
    def post_processor(self, post_processor: Any) -> None:
        self._replace_component("post_processor", post_processor)

    @property
    def decoder(self) -> Any:
        """The decoder, an object of the package tokenizers, or None."""
        return self._get_component("decoder")

    @decoder.setter
    def decoder(self, decoder: Any) -> None:
        self._replace_component("decoder", decoder)

    # Arrays

    def encode_ragged(self, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True) -> Ragged:
        """The ids of ``encode_batch`` in two arrays instead of objects, with truncation, template and padding.

        ``input`` is a list, or an array or a column of pyarrow; ``to_arrow()`` of the result is a column again. What
        truncation cuts off is left out.
        """
        texts = input.to_pylist() if hasattr(input, "to_pylist") else input
        return Ragged._of_native(*self._encode_ragged(texts, is_pretokenized, add_special_tokens))

    # Added tokens

    def _add(self, tokens: list[Any], are_special: bool) -> int:
        if not isinstance(tokens, list):
            raise TypeError(f"argument 'tokens': '{type(tokens).__name__}' object cannot be cast as 'list'")
        fields = []
        for token in tokens:
            if isinstance(token, str):
                fields.append((token, False, False, False, not are_special, are_special))
            elif type(token).__name__ == "AddedToken":
                if are_special:
                    token.special = True
                content = (token.content, token.single_word, token.lstrip, token.rstrip)
                fields.append((*content, token.normalized, token.special))
            else:
                raise TypeError("Input must be a List[Union[str, AddedToken]]")
        self._refresh()
        return self._add_tokens(fields)

    def add_tokens(self, tokens: list[Any]) -> int:
        """Adds tokens that are found in texts; returns how many are new."""
        return self._add(tokens, False)

    def add_special_tokens(self, tokens: list[Any]) -> int:
        """Adds special tokens; returns how many are new."""
        return self._add(tokens, True)

    def get_added_tokens_decoder(self) -> dict[int, Any]:
        """The added tokens by their ids."""
        added_token = _installed.added_token_class()
        return {
            id: added_token(
                content, single_word=single_word, lstrip=lstrip, rstrip=rstrip, normalized=normalized, special=special
            )
            for id, (content, single_word, lstrip, rstrip, normalized, special) in self._added_tokens()
        }

    # Awaitable calls

    def async_encode(
        self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> asyncio.Future[Any]:
        """Like ``encode``; spans count bytes, as in tokenizers."""
        return _in_thread(self._encode_bytes, sequence, pair, is_pretokenized, add_special_tokens)

    def async_encode_batch(
        self, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> asyncio.Future[list[Any]]:
        """Like ``encode_batch``."""
        return _in_thread(self.encode_batch, input, is_pretokenized, add_special_tokens)

    def async_encode_batch_fast(
        self, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> asyncio.Future[list[Any]]:
        """Like ``encode_batch_fast``."""
        return _in_thread(self.encode_batch_fast, input, is_pretokenized, add_special_tokens)

    def async_decode_batch(self, sequences: Any, skip_special_tokens: bool = True) -> asyncio.Future[list[str]]:
        """Like ``decode_batch``."""
        return _in_thread(self.decode_batch, sequences, skip_special_tokens)

    # Training

    def _train(self, train: Callable[[Any], None]) -> None:
        package = _installed.package("training a tokenizer")
        trained = package.Tokenizer.from_str(self.to_str())
        train(trained)
        encodes_special = self.encode_special_tokens
        self._read(trained.to_str().encode())
        self.encode_special_tokens = encodes_special
        self._lent().keep("model", None)

    def train(self, files: list[str], trainer: Any = None) -> None:
        """Trains the model on files, with the package tokenizers."""
        self._train(lambda tokenizer: tokenizer.train(files, trainer))

    def train_from_iterator(self, iterator: Iterable[Any], trainer: Any = None, length: int | None = None) -> None:
        """Trains the model on texts, with the package tokenizers."""
        self._train(lambda tokenizer: tokenizer.train_from_iterator(iterator, trainer, length))
