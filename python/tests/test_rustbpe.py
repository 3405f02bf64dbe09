"""The interface of rustbpe. The library's tests compare the tokens with those of rustbpe itself."""

import collections
import re

import pytest

import spiece
import spiece.tiktoken as tiktoken
from spiece import rustbpe

TEXTS = ["low lower lowest\n", "new newer newest\n\n", "wider  wide é世界 1234", "", "low new\r\n"] * 3


def naive(texts, vocab_size, pattern):
    """The tokens by the definition: the pair with the highest count, then with the smallest ids."""
    words = [list(word.encode()) for text in texts for word in re.findall(pattern, text)]
    tokens = [bytes([byte]) for byte in range(256)]
    while len(tokens) < vocab_size:
        pairs = collections.Counter(pair for word in words for pair in zip(word, word[1:]))
        if not pairs:
            break
        left, right = min(pairs, key=lambda pair: (-pairs[pair], pair))
        for word in words:
            at = 0
            while at + 1 < len(word):
                if (word[at], word[at + 1]) == (left, right):
                    word[at : at + 2] = [len(tokens)]
                at += 1
        tokens.append(tokens[left] + tokens[right])
    return [(token, id) for id, token in enumerate(tokens)]


def trained(texts, vocab_size, **options):
    tokenizer = rustbpe.Tokenizer()
    tokenizer.train_from_iterator(texts, vocab_size, **options)
    return tokenizer


def test_tokens_are_those_of_the_definition():
    for pattern in (r"\w+|\s+|[^\w\s]+", r" ?\w+", r"\S+|\n"):
        for vocab_size in (256, 257, 270, 400):
            tokenizer = trained(iter(TEXTS), vocab_size, pattern=pattern)
            assert tokenizer.get_mergeable_ranks() == naive(TEXTS, vocab_size, pattern)
            assert tokenizer.vocab_size == len(tokenizer.get_mergeable_ranks()) and tokenizer.get_pattern() == pattern


def test_line_ends_are_text():
    tokenizer = trained(["a\n\n"] * 5, 258, pattern=r"(?s).+")
    assert [token for token, _ in tokenizer.get_mergeable_ranks()[256:]] == [b"\n\n", b"a\n\n"]


def test_texts_are_encoded_and_decoded():
    tokenizer = trained(TEXTS, 300)
    for text in TEXTS:
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids) == text
    assert tokenizer.batch_encode(TEXTS) == [tokenizer.encode(text) for text in TEXTS]
    with pytest.raises(ValueError, match="Unknown token id: 9999"):
        tokenizer.decode([97, 9999])
    with pytest.raises(UnicodeDecodeError):
        tokenizer.decode([255])
    for value in (b"a", None, 5):
        with pytest.raises(TypeError):
            tokenizer.encode(value)
    assert tokenizer.decode([]) == "" and tokenizer.encode("") == []


def test_before_the_training_there_are_bytes_only():
    tokenizer = rustbpe.Tokenizer()
    assert tokenizer.vocab_size == 256 and tokenizer.get_pattern() == "" and tokenizer.encode("abc") == []
    assert tokenizer.get_mergeable_ranks() == [(bytes([byte]), byte) for byte in range(256)]
    assert tokenizer.decode([104, 105]) == "hi"
    tokenizer.train_from_iterator([], 300)
    assert tokenizer.vocab_size == 256 and tokenizer.encode("hi") == [104, 105]
    tokenizer.train_from_iterator(["aa"] * 3, 300)
    assert tokenizer.vocab_size == 257 and tokenizer.encode("aa") == [256]


def test_what_cannot_be_trained_on_is_said():
    def failing():
        yield "a"
        raise KeyError("mine")

    tokenizer = trained(TEXTS, 260)
    for call, error in (
        (lambda: tokenizer.train_from_iterator(TEXTS, 255), ValueError),
        (lambda: tokenizer.train_from_iterator(TEXTS, 300, pattern="("), ValueError),
        (lambda: tokenizer.train_from_iterator(failing(), 300), KeyError),
        (lambda: tokenizer.train_from_iterator(5, 300), TypeError),
        (lambda: tokenizer.train_from_iterator(["a", b"b"], 300), TypeError),
        (lambda: tokenizer.train_from_iterator(["a", None], 300), TypeError),
        (lambda: tokenizer.train_from_iterator(["\ud800"], 300), UnicodeEncodeError),
    ):
        with pytest.raises(error):
            call()
    assert tokenizer.vocab_size == 260


def test_nanochat_makes_its_tokenizer_with_two_other_imports():
    pattern = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
    special = ["<|bos|>", "<|user_start|>", "<|user_end|>"]
    tokenizer = rustbpe.Tokenizer()
    tokenizer.train_from_iterator(iter(TEXTS), 300 - len(special), pattern=pattern)
    ranks = {bytes(token): rank for token, rank in tokenizer.get_mergeable_ranks()}
    ids = {name: len(ranks) + n for n, name in enumerate(special)}
    encoding = tiktoken.Encoding(
        name="rustbpe", pat_str=tokenizer.get_pattern(), mergeable_ranks=ranks, special_tokens=ids
    )
    for text in TEXTS:
        assert encoding.encode_ordinary(text) == tokenizer.encode(text)
        assert encoding.decode(encoding.encode_ordinary(text)) == text
    assert encoding.encode_single_token("<|user_start|>") == len(ranks) + 1 and encoding.n_vocab == len(ranks) + 3
    assert encoding.encode_ordinary_batch(TEXTS, num_threads=4) == tokenizer.batch_encode(TEXTS)
    modern = spiece.Tokenizer.from_ranks(ranks, pattern=pattern, special_tokens=ids)
    assert modern.encode_batch(TEXTS) == tokenizer.batch_encode(TEXTS)
