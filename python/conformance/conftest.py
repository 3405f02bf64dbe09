"""Runs the reference's test suite on ``spiece.sentencepiece``.

``run_reference_suite.py`` copies this file beside the suite, which does ``import sentencepiece``.
"""

import os

import spiece.as_sentencepiece  # noqa: F401  (from now on `import sentencepiece` is ours)

import pytest

_FLAGS = "since 0.2.2 a normalizer keeps the flags of its model or spec unless they are given; until 0.2.1 they were False"

#: For each release the tests that fail for a reason: the end of the name, and the reason.
EXPECTED_FAILURES = {
    "0.2.3": {"test_convert_to_flatbuffer": "the flatbuffer format of the reference's lite library is not written"},
    "0.2.1": {
        "test_normalizer": _FLAGS,
        "test_normalizer_rule": _FLAGS,
    },
}


def pytest_collection_modifyitems(items):
    """Marks the tests that are expected to fail. A test that passes against expectation fails the run."""
    expected = EXPECTED_FAILURES.get(os.environ["SPIECE_REFERENCE_RELEASE"], {})
    for item in items:
        for name, reason in expected.items():
            if item.name == name:
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
