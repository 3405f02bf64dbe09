"""What the slow tokenizers of transformers 4.57.6 and other callers of sentencepiece give: one line of JSON for each call.

Run by ``third_party.py`` with each of the two modules: ``transformers_probe.py MODULE FOLDER MODEL...``.
"""

import json
import os
import sys

if sys.argv[1] != "sentencepiece":
    import spiece.as_sentencepiece  # noqa: F401

import sentencepiece as spm
import transformers

TEXTS = ["Hello world", "  two  spaces ", "héllo 日本語 😀", "<s>a</s> <extra_id_0> b", "", "a\nb\tc", "12345 don't"]


def show(label, call):
    """Writes the result of a call, or the classes of its exception."""
    try:
        result = {"value": repr(call())}
    except Exception as error:  # noqa: BLE001
        result = {"error": [cls.__name__ for cls in type(error).__mro__], "message": str(error)}
    print(json.dumps({"label": label, **result}))


def probe(label, tokenizer):
    """The calls of a tokenizer of transformers."""
    for text in TEXTS:
        show(f"{label} {text!r}", lambda: tokenizer(text)["input_ids"])
        show(f"{label} tokens {text!r}", lambda: tokenizer.tokenize(text))
        show(f"{label} decode {text!r}", lambda: tokenizer.decode(tokenizer(text)["input_ids"]))
        show(f"{label} plain {text!r}", lambda: tokenizer.decode(tokenizer(text)["input_ids"], skip_special_tokens=True))
    show(f"{label} batch", lambda: tokenizer(TEXTS, padding=False)["input_ids"])
    show(f"{label} vocabulary", lambda: (len(tokenizer), sorted(tokenizer.get_vocab().items())[:200]))
    show(f"{label} ids", lambda: tokenizer.convert_ids_to_tokens(list(range(60))))
    show(f"{label} string", lambda: tokenizer.convert_tokens_to_string(tokenizer.tokenize("Hello world")))


def folder_of(folder, name, files):
    """A folder with the files of a tokenizer."""
    path = os.path.join(folder, name)
    os.makedirs(path, exist_ok=True)
    for file, content in files.items():
        with open(os.path.join(path, file), "wb") as out:
            out.write(content)
    return path


def probe_model(folder, path):
    """All tokenizers with one model."""
    name = os.path.basename(path)
    model = open(path, "rb").read()
    sp = spm.SentencePieceProcessor(model_file=path)
    vocabulary = {sp.id_to_piece(id): id for id in range(len(sp))}
    vocabulary.setdefault("<pad>", len(vocabulary))
    vocabulary.setdefault("</s>", len(vocabulary))
    vocabulary.setdefault("<unk>", len(vocabulary))
    vocabulary.setdefault("<s>", len(vocabulary))
    words = json.dumps(vocabulary).encode()
    for legacy in (True, False):
        show(f"{name} llama {legacy}", lambda: probe(f"{name} llama {legacy}", llama(path, legacy)))
        show(f"{name} t5 {legacy}", lambda: probe(f"{name} t5 {legacy}", t5(path, legacy)))
    marian = folder_of(folder, "marian", {"source.spm": model, "target.spm": model, "vocab.json": words})
    show(f"{name} marian", lambda: probe(f"{name} marian", transformers.MarianTokenizer.from_pretrained(marian)))
    m2m = folder_of(folder, "m2m", {"sentencepiece.bpe.model": model, "vocab.json": words})
    show(f"{name} m2m", lambda: probe(f"{name} m2m", m2m100(m2m)))


def llama(path, legacy):
    """The slow tokenizer of Llama."""
    return transformers.LlamaTokenizer(vocab_file=path, legacy=legacy)


def t5(path, legacy):
    """The slow tokenizer of T5."""
    return transformers.T5Tokenizer(vocab_file=path, legacy=legacy)


def m2m100(folder):
    """The tokenizer of M2M100."""
    return transformers.M2M100Tokenizer(
        vocab_file=os.path.join(folder, "vocab.json"),
        spm_file=os.path.join(folder, "sentencepiece.bpe.model"),
        src_lang="en",
        tgt_lang="fr",
    )


def probe_callers(path):
    """The calls that llama.cpp's converter, seqio, NeMo, fairseq and SpeechBrain make."""
    name = os.path.basename(path)
    sp = spm.SentencePieceProcessor(path)
    for id in range(min(sp.vocab_size(), 400)):
        show(
            f"{name} gguf {id}",
            lambda: (sp.IdToPiece(id), sp.GetScore(id), sp.IsUnknown(id), sp.IsControl(id), sp.IsUnused(id), sp.IsByte(id)),
        )
    fresh = spm.SentencePieceProcessor()
    show(f"{name} seqio load", lambda: fresh.LoadFromSerializedProto(open(path, "rb").read()))
    show(f"{name} NeMo load", lambda: spm.SentencePieceProcessor().Load(path))
    show(f"{name} fairseq load", lambda: spm.SentencePieceProcessor().Load(str(path)))
    for text in TEXTS:
        show(f"{name} seqio {text!r}", lambda: (fresh.GetPieceSize(), fresh.EncodeAsIds(text), fresh.DecodeIds(fresh.EncodeAsIds(text))))
        show(f"{name} NeMo {text!r}", lambda: (sp.encode_as_pieces(text), sp.encode_as_ids(text)))
        show(f"{name} NeMo decode {text!r}", lambda: (sp.decode_pieces(sp.encode_as_pieces(text)), sp.decode_ids(sp.encode_as_ids(text))))
        show(f"{name} fairseq {text!r}", lambda: " ".join(sp.EncodeAsPieces(text)).replace(" ", "").replace("\u2581", " "))
        show(f"{name} SpeechBrain {text!r}", lambda: (sp.encode_as_ids(text), sp.decode_ids(sp.encode_as_ids(text))))
    from sentencepiece import sentencepiece_model_pb2

    def message():
        found = sentencepiece_model_pb2.ModelProto.FromString(sp.serialized_model_proto())
        return (len(found.pieces), found.trainer_spec.model_type, found.normalizer_spec.name, found.pieces[5].piece)

    show(f"{name} message", message)


def main():
    """Probes everything with each model."""
    folder, *models = sys.argv[2:]
    transformers.logging.set_verbosity_error()
    for path in models:
        probe_model(folder, path)
        probe_callers(path)


if __name__ == "__main__":
    main()
