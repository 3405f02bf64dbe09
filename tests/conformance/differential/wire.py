"""A reader and writer of the protobuf wire format, as far as editing .model files needs it.

Job: take a model file apart into fields and put fields together again, without the reference's classes.
Input: bytes of a message. Output: a list of `Field`, and bytes again; an unedited message keeps its bytes.
"""

import struct
from dataclasses import dataclass
from typing import Union

VARINT = 0
FIXED64 = 1
BYTES = 2
FIXED32 = 5

# Fields of ModelProto, SentencePiece, TrainerSpec and NormalizerSpec that the mutations change.
PIECES = 1
TRAINER_SPEC = 2
NORMALIZER_SPEC = 3
PIECE_TEXT = 1
PIECE_SCORE = 2
PIECE_KIND = 3
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


class WireError(ValueError):
    """The bytes are not a message."""


@dataclass
class Field:
    """One field: `value` is an int for VARINT, otherwise the raw bytes."""

    number: int
    wire_type: int
    value: Union[int, bytes]


def _read_varint(data, at):
    # Nearly all tags and sizes are one byte.
    if at < len(data) and data[at] < 0x80:
        return data[at], at + 1
    result = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise WireError("a varint is truncated")
        byte = data[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, at
    raise WireError("a varint has more than ten bytes")


def _write_varint(value):
    out = bytearray()
    value &= (1 << 64) - 1
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def parse(data):
    """The fields of a message, in their order."""
    fields, at = [], 0
    while at < len(data):
        key, at = _read_varint(data, at)
        number = key >> 3
        wire_type = key & 7
        if wire_type == VARINT:
            value, at = _read_varint(data, at)
        else:
            if wire_type == BYTES:
                size, at = _read_varint(data, at)
            elif wire_type in (FIXED32, FIXED64):
                size = 4 if wire_type == FIXED32 else 8
            else:
                raise WireError(f"wire type {wire_type} at byte {at}")
            if at + size > len(data):
                raise WireError("a field is truncated")
            value = data[at : at + size]
            at += size
        fields.append(Field(number, wire_type, value))
    return fields


def serialize(fields):
    """The message of these fields."""
    out = bytearray()
    for field in fields:
        out += _write_varint(field.number << 3 | field.wire_type)
        if field.wire_type == VARINT:
            out += _write_varint(field.value)
            continue
        if field.wire_type == BYTES:
            out += _write_varint(len(field.value))
        out += field.value
    return bytes(out)


def put(fields, number, wire_type, value):
    """Sets the field, at the end if the message does not have it yet."""
    for field in fields:
        if field.number == number:
            field.wire_type = wire_type
            field.value = value
            return
    fields.append(Field(number, wire_type, value))


def get(fields, number, default):
    """The value of the last field of that number."""
    return next((field.value for field in reversed(fields) if field.number == number), default)


@dataclass
class Piece:
    """An entry of the vocabulary. Unknown fields of the piece are dropped."""

    text: bytes
    score: float
    kind: int

    def fields(self):
        score = struct.pack("<f", self.score)
        result = [Field(PIECE_TEXT, BYTES, self.text), Field(PIECE_SCORE, FIXED32, score)]
        return result if self.kind == NORMAL else result + [Field(PIECE_KIND, VARINT, self.kind)]


class ModelParts:
    """A model taken apart: pieces, the two specs, and all other fields."""

    def __init__(self, data):
        self.pieces, self.trainer, self.normalizer, self.others = [], [], [], []
        for field in parse(data):
            if field.number == PIECES and field.wire_type == BYTES:
                self.pieces.append(_piece(field.value))
            elif field.number == TRAINER_SPEC and field.wire_type == BYTES:
                self.trainer += parse(field.value)
            elif field.number == NORMALIZER_SPEC and field.wire_type == BYTES:
                self.normalizer += parse(field.value)
            else:
                self.others.append(field)

    def to_bytes(self):
        fields = [Field(PIECES, BYTES, serialize(piece.fields())) for piece in self.pieces]
        fields.append(Field(TRAINER_SPEC, BYTES, serialize(self.trainer)))
        fields.append(Field(NORMALIZER_SPEC, BYTES, serialize(self.normalizer)))
        return serialize(fields + self.others)


def _piece(data):
    values = {field.number: field.value for field in parse(data)}
    score = values.get(PIECE_SCORE, b"\0\0\0\0")
    return Piece(values.get(PIECE_TEXT, b""), struct.unpack("<f", score)[0], values.get(PIECE_KIND, NORMAL))
