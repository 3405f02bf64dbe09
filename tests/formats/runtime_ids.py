"""The ids that a program in Python gives: runtime_ids.py PROGRAM FILE TEXTS.json IDS.json

TEXTS.json is a list of texts, IDS.json a list of lists of ids, without those that begin and end texts; null for a text that the
program refuses. Each function imports its
program alone, since each has an environment of its own. runtimes.py runs this file.
"""

import json
import os
import sys
from pathlib import Path

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="", HF_HUB_OFFLINE="1", OPENVINO_TELEMETRY_DISABLE="1")


def ids_or_none(encode, text):
    """The ids, or None if the program refuses the text."""
    try:
        return encode(text)
    except Exception:
        return None


def mistral_common(file, texts):
    from mistral_common.tokens.tokenizers.base import TokenizerVersion
    from mistral_common.tokens.tokenizers.sentencepiece import SentencePieceTokenizer

    tokenizer = SentencePieceTokenizer(file, TokenizerVersion.v3)
    return [tokenizer.encode(text, bos=False, eos=False) for text in texts]


def transformers(folder, texts):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    return tokenizer(texts, add_special_tokens=False, split_special_tokens=True)["input_ids"]


def openvino_tokenizers(folder, texts):
    import openvino
    from openvino_tokenizers import convert_tokenizer
    from transformers import AutoTokenizer

    model = convert_tokenizer(AutoTokenizer.from_pretrained(folder), add_special_tokens=False)
    compiled = openvino.compile_model(model, "CPU")
    return [compiled([text])["input_ids"][0].tolist() for text in texts]


def onnxruntime_extensions(file, texts):
    """The operator SentencepieceTokenizer, which takes the .model."""
    import numpy
    from onnxruntime_extensions import OrtPyFunction

    operator = OrtPyFunction.from_customop("SentencepieceTokenizer", model=Path(file).read_bytes())
    off = numpy.array([False])
    # nbest_size and alpha; add_bos, add_eos, reverse and fairseq.
    arguments = [numpy.array([0], numpy.int64), numpy.array([0], numpy.float32), off, off, off, off]
    # The first call reads the model, so that one which is refused is no matter of the texts.
    operator(numpy.array(["a"], object), *arguments)
    return [ids_or_none(lambda text: operator(numpy.array([text], object), *arguments)[0].tolist(), text) for text in texts]


def onnxruntime_genai(folder, texts):
    """The reader of folders that onnxruntime-genai uses, which is a part of onnxruntime-extensions."""
    from onnxruntime_extensions.pp_api import Tokenizer

    tokenizer = Tokenizer(folder, {"add_special_tokens": False})
    return [ids_or_none(lambda text: [int(number) for number in tokenizer.tokenize(text)], text) for text in texts]


def tensorflow_text(file, texts):
    import tensorflow_text

    return tensorflow_text.SentencepieceTokenizer(model=Path(file).read_bytes()).tokenize(texts).to_list()


def tensorflow_text_fast(file, texts):
    import tensorflow_text

    return tensorflow_text.FastSentencepieceTokenizer(model=Path(file).read_bytes()).tokenize(texts).to_list()


def splintr(folder, texts):
    import splintr

    tokenizer = splintr.from_json(str(Path(folder) / "tokenizer.json"))
    return [tokenizer.encode_ordinary(text) for text in texts]


def main():
    program, file, texts, output = sys.argv[1:]
    ids = globals()[program](file, json.loads(Path(texts).read_text("utf-8")))
    Path(output).write_text(json.dumps(ids), "utf-8")
    # Some of these programs crash when Python frees them.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
