"""The reference in a process of its own.

Job: run requests with the reference's library; a crash or an endless loop ends this process only.
Input: one JSON request a line on standard input. Output: one JSON answer a line on standard output.
Bytes travel as strings of the same code points (Latin-1). This file runs in the virtual environment.
"""

import json
import os
import re
import sys

import wire

INT32 = range(-(2**31), 2**31)

# Field numbers of NBestSentencePieceText, SentencePieceText and its pieces (sentencepiece.proto).
NBESTS = 1
TOKENS = 2
PIECE, ID, SURFACE, BEGIN, END = range(1, 6)


def pack(data):
    return data.decode("latin-1")


def unpack(text):
    return text.encode("latin-1")


def open_model(native, path):
    processor = native.SentencePieceProcessor()
    processor.LoadFromFile(path)
    return processor


def parse_ids(line):
    """The ids of one line as `spm_decode` reads them: words that are not a number of 32 bits are left out."""
    ids = []
    for word in line.split(b" "):
        match = re.fullmatch(rb"[ \t\n\v\f\r]*([+-]?[0-9]+)[ \t\n\v\f\r]*", word)
        if match and int(match.group(1)) in INT32:
            ids.append(int(match.group(1)))
    return ids


def tokens(message):
    """[id, piece, begin, end] of each token of a serialized SentencePieceText."""
    result = []
    for field in wire.parse(message):
        if field.number == TOKENS:
            token = wire.parse(field.value)
            piece = pack(wire.get(token, PIECE, b""))
            result.append([wire.get(token, ID, 0), piece, wire.get(token, BEGIN, 0), wire.get(token, END, 0)])
    return result


class ExtraOptions:
    """The extra options of `spm_encode`, in the order in which they are given.

    The library's own setter is not part of the wheel, and the options of the Python call have a fixed order and
    recognize unknown pieces by their text rather than by their id. So results without options are rearranged here.
    """

    NAMES = ("reverse", "bos", "eos", "unk", "unk_piece")

    def __init__(self, processor, text):
        self.processor = processor
        self.names = text.split(":") if text else []
        self.bos = processor.bos_id()
        self.eos = processor.eos_id()
        for name in self.names:
            if name not in self.NAMES:
                raise ValueError(f"option {name} is not available")
            if getattr(self, name, 0) == -1:
                raise ValueError(f"the piece of option {name} is not defined")
        self.bos_piece = self._piece(self.bos)
        self.eos_piece = self._piece(self.eos)
        self.unk_piece = self._piece(processor.unk_id())
        self.replaces_unknown = not {"unk", "unk_piece"}.isdisjoint(self.names)

    def _piece(self, number):
        piece = self.processor.IdToPiece(number) if number >= 0 else ""
        return pack(piece.encode("utf-8", "surrogateescape") if isinstance(piece, str) else piece)

    def apply(self, items, bos, eos):
        for name in self.names:
            if name == "reverse":
                items = items[::-1]
            elif name == "bos":
                items = [bos] + items
            elif name == "eos":
                items = items + [eos]
        return items

    def with_unknown(self, ids, pieces):
        if not self.replaces_unknown or len(ids) != len(pieces):
            return pieces
        return [self.unk_piece if self.processor.IsUnknown(i) else piece for i, piece in zip(ids, pieces)]

    def apply_to_tokens(self, result, size):
        texts = self.with_unknown([token[0] for token in result], [token[1] for token in result])
        result = [[token[0], text, token[2], token[3]] for token, text in zip(result, texts)]
        bos = [self.bos, self.bos_piece, 0, 0]
        return self.apply(result, bos, [self.eos, self.eos_piece, size, size])


class Operations:
    """One method for each operation; arguments and results are JSON values."""

    def __init__(self):
        from sentencepiece import _sentencepiece

        self.native = _sentencepiece
        self.native.SetMinLogLevel(4)

    def train(self, folder, arguments):
        os.chdir(folder)
        self.native.SentencePieceTrainer._TrainFromMap(arguments)

    def load(self, model):
        return open_model(self.native, model).GetPieceSize()

    def encode(self, model, lines, extra=""):
        """[ids, pieces, tokens] of each line, with the extra options of `spm_encode`."""
        processor = open_model(self.native, model)
        extra = ExtraOptions(processor, extra)
        results = []
        for line in map(unpack, lines):
            ids = processor._EncodeAsIds(line, False, 0, 0.0, False, False, False)
            pieces = processor._EncodeAsPieces(line, False, 0, 0.0, False, False, False, False, True)
            message = processor._EncodeAsSerializedProto(line, False, 0, 0.0, False, False, False, False)
            pieces = extra.with_unknown(ids, [pack(piece) for piece in pieces])
            results.append([
                extra.apply(ids, extra.bos, extra.eos),
                extra.apply(pieces, extra.bos_piece, extra.eos_piece),
                extra.apply_to_tokens(tokens(message), len(line)),
            ])
        return results

    def encode_each(self, model, texts):
        """The ids of each text."""
        processor = open_model(self.native, model)
        return [processor._EncodeAsIds(unpack(text), False, 0, 0.0, False, False, False) for text in texts]

    def nbest(self, model, lines, size):
        processor = open_model(self.native, model)
        results = []
        for line in map(unpack, lines):
            message = processor._NBestEncodeAsSerializedProto(line, size, False, False, False, False)
            results.append([tokens(field.value) for field in wire.parse(message) if field.number == NBESTS])
        return results

    def decode_ids(self, model, lines, reverse=False):
        processor = open_model(self.native, model)
        step = -1 if reverse else 1
        return [pack(processor._DecodeIdsAsBytes(parse_ids(unpack(line))[::step])) for line in lines]

    def decode_pieces(self, model, lines, reverse=False):
        processor = open_model(self.native, model)
        step = -1 if reverse else 1
        return [pack(processor._DecodePiecesAsBytes(unpack(line).split(b" ")[::step])) for line in lines]

    def normalize(self, model, lines):
        """As a model does before it splits text."""
        processor = open_model(self.native, model)
        return [pack(processor._Normalize(unpack(line))) for line in lines]

    def apply_rules(self, source, lines, remove_extra_whitespaces):
        """The rules alone, as `spm_normalize` does by default; `source` is [kind, name].

        The program loads a model as a processor does, with all its checks; the library's normalizer has none.
        """
        kind, name = source
        if kind == "model":
            open_model(self.native, name)
        normalizer = self.native.SentencePieceNormalizer()
        load = {
            "model": normalizer.LoadFromFile,
            "tsv": normalizer.LoadFromRuleTSV,
            "name": normalizer.LoadFromRuleName,
        }
        load[kind](name)
        normalizer._SetProtoField("add_dummy_prefix", False)
        normalizer._SetProtoField("escape_whitespaces", False)
        normalizer._SetProtoField("remove_extra_whitespaces", remove_extra_whitespaces)
        return [pack(normalizer._Normalize(unpack(line))) for line in lines]


def serve():
    # The library writes messages to file descriptors 1 and 2; answers use a duplicate of descriptor 1.
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    operations = Operations()
    for request in sys.stdin:
        request = json.loads(request)
        try:
            method = getattr(operations, request.pop("operation"))
            answer = {"value": method(**request)}
        except Exception as error:  # Whatever the library raises is the answer.
            answer = {"error": f"{type(error).__name__}: {error}"[:500]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    serve()
