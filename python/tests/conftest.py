"""Models and texts for the tests."""

import pathlib
import signal
import threading

import pytest

import spiece
import spiece.sentencepiece as spm

TESTDATA = pathlib.Path(__file__).parents[2] / "testdata"
NAMES = ["golden/llama2", "golden/symbols", "run/unigram", "run/unigram_bytes", "run/word", "run/char"]
TEXTS = [
    "",
    " ",
    "Hello world",
    "  les droits  de l'homme ",
    "héllo wörld 日本語 😀",
    "<s>a</s><unk>",
    "a\nb\tc",
    "ﬁ ＡＢＣ ㍿",
    "x" * 300,
]


@pytest.fixture(scope="session")
def testdata():
    """The folder with the models of the repository."""
    return TESTDATA


@pytest.fixture(scope="session", params=NAMES)
def model_path(request):
    """One model of each type after another."""
    return str(TESTDATA / f"{request.param}.model")


@pytest.fixture(scope="session")
def bpe_path():
    """A BPE model with byte fallback."""
    return str(TESTDATA / "golden/llama2.model")


@pytest.fixture
def endless_until_ctrl_c():
    """Texts again and again; soon after the first one the main thread gets the signal of Ctrl-C."""
    if not hasattr(signal, "pthread_kill"):
        pytest.skip("needs signals of threads")
    main = threading.main_thread().ident
    # Processes in the background of a shell ignore the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def endless(texts):
        threading.Timer(0.3, signal.pthread_kill, (main, signal.SIGINT)).start()
        while True:
            yield from texts

    yield endless
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def unigram_path():
    """A unigram model."""
    return str(TESTDATA / "run/unigram.model")


@pytest.fixture
def sp(model_path):
    """A processor of the drop-in."""
    return spm.SentencePieceProcessor(model_file=model_path)


@pytest.fixture
def tokenizer(model_path):
    """A tokenizer of the modern interface."""
    return spiece.Tokenizer.open(model_path)


@pytest.fixture(scope="session")
def corpus():
    """Lines to train on."""
    return (TESTDATA / "udhr.txt").read_text(encoding="utf-8").splitlines()[:400]
