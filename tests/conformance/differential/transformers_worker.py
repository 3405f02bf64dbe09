"""Encodes texts with AutoTokenizer of transformers.

Job: the worker process of `transformers_side.py`; runs in an environment with transformers.
Input: a JSON object per line: `folder` (for from_pretrained) and `texts`. Output: a JSON object per line: `value` is a list of
[ids, whether a grapheme cluster has several characters], or `error` the message.

If there is also `saved`, the name of another folder, then `folder` has a tokenizer.model: transformers makes its own fast tokenizer
of it and saves that in `saved`, and the ids are those of the tokenizer.json there.

Control pieces in text are ordinary text, as in SentencePiece: split_special_tokens.
"""

import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import regex  # noqa: E402
import transformers  # noqa: E402

transformers.logging.set_verbosity_error()


def loaded(request):
    if "saved" not in request:
        return transformers.AutoTokenizer.from_pretrained(request["folder"], split_special_tokens=True)
    transformers.LlamaTokenizerFast.from_pretrained(request["folder"]).save_pretrained(request["saved"])
    file = os.path.join(request["saved"], "tokenizer.json")
    return transformers.PreTrainedTokenizerFast(tokenizer_file=file, split_special_tokens=True)


def answer(request):
    tokenizer = loaded(request)
    # An empty text makes some versions fail; its ids are none.
    encode = lambda text: tokenizer(text, add_special_tokens=False)["input_ids"] if text else []  # noqa: E731
    result = []
    for text in request["texts"]:
        clusters = regex.findall(r"\X", text)
        result.append([encode(text), any(len(cluster) > 1 for cluster in clusters)])
    return result


def main():
    replies, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        try:
            reply = {"value": answer(json.loads(line))}
        except BaseException as error:  # A panic of tokenizers is no Exception.
            reply = {"error": f"{type(error).__name__}: {error}"[:2000]}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


if __name__ == "__main__":
    main()
