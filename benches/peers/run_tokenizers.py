"""Measures Hugging Face tokenizers: run_tokenizers.py OPERATION TOKENIZER_JSON [TEXT [SECONDS]].

The operations are batch and load; the arguments and the JSON object are those of run_sentencepiece.py. A batch runs on as many
threads as the variable RAYON_NUM_THREADS says. Offsets are not computed where the library can leave them out.
"""

import sys

import run_sentencepiece as measuring
import tokenizers


def works(work, path, lines, _threads):
    """The calls for an operation, and the function that computes the digest of a result."""
    load = tokenizers.Tokenizer.from_file
    model = load(path)
    if work == "load":
        greeting = measuring.GREETING
        return [lambda: load(path)], lambda made: measuring.digest_ids([made.encode(greeting, add_special_tokens=False).ids])
    if work == "batch":
        texts = [line.decode() for line in lines]
        # The text of control pieces, such as "<s>", is ordinary text, as in the other libraries.
        model.encode_special_tokens = True
        return [lambda: model.encode_batch_fast(texts, add_special_tokens=False)], \
            lambda made: measuring.digest_ids(encoding.ids for encoding in made)
    sys.exit(f"there is no work {work}")


measuring.main(f"tokenizers {tokenizers.__version__}", works)
