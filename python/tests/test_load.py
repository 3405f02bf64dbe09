"""Threads, processes, memory."""

import multiprocessing
import os
import pickle
import resource
import sys
import threading

import pytest

import spiece
import spiece.sentencepiece as spm
from conftest import TEXTS


def test_eight_threads_share_a_tokenizer(tokenizer):
    expected = tokenizer.encode_batch(TEXTS)
    failures = []

    def work():
        for _ in range(60):
            if [tokenizer.encode(text) for text in TEXTS] != expected:
                failures.append("single")
            if tokenizer.encode_batch(TEXTS, threads=2) != expected:
                failures.append("batch")
            if tokenizer.decode_batch(expected, threads=2) != [tokenizer.decode(ids) for ids in expected]:
                failures.append("decode")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_can_encode_batches(bpe_path):
    sp = spm.SentencePieceProcessor(model_file=bpe_path)
    expected = sp.encode(TEXTS * 20, num_threads=2)
    child = os.fork()
    if child == 0:
        same = sp.encode(TEXTS * 20, num_threads=2) == expected and sp.decode(expected, num_threads=3)
        os._exit(0 if same else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0
    assert sp.encode(TEXTS * 20, num_threads=2) == expected


def encode_in_process(pickled):
    """Encodes with a tokenizer that came from another process."""
    return pickle.loads(pickled).encode("Hello world")


def test_pickles_go_to_other_processes(bpe_path):
    tokenizer = spiece.Tokenizer.open(bpe_path)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        results = pool.map(encode_in_process, [pickle.dumps(tokenizer)] * 4)
    assert results == [tokenizer.encode("Hello world")] * 4


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of the process as Linux has it")
def test_memory_does_not_grow_with_calls(bpe_path):
    calls = int(os.environ.get("SPIECE_CALLS", "40000"))
    sp = spm.SentencePieceProcessor(model_file=bpe_path)
    texts = ["Hello world %d" % n for n in range(97)]

    def run(count):
        for n in range(count):
            ids = sp.encode(texts[n % 97])
            sp.decode(ids)
            if n % 16 == 0:
                sp.encode(texts, out_type=str)
                sp.encode("héllo", return_type="offset_mapping")
                sp.encode("a", return_type="serialized_proto")

    run(calls // 10)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run(calls)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after - before < 2000, f"{after - before} KiB more"


def test_lower_case_is_chosen_for_a_list_of_pieces(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("[UNK]\na\n##b\n")
    for lowercase, expected in ((None, [1, 2]), (True, [1, 2]), (False, [0])):
        assert spiece.Tokenizer.open(path, lowercase=lowercase).encode("AB") == expected
        assert spiece.Tokenizer.from_bytes(path.read_bytes(), lowercase=lowercase).encode("AB") == expected
    with pytest.raises(spiece.ModelError, match="for BERT's vocab.txt"):
        spiece.Tokenizer.from_bytes(b"minbpe v1\n\n0\n", lowercase=True)
