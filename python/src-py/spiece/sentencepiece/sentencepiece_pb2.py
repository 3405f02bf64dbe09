"""The messages of ``sentencepiece.proto``: texts and their pieces."""

from ._schema import messages

DESCRIPTOR, _classes = messages(
    __name__,
    "sentencepiece.proto",
    [
        {
            "name": "SentencePieceText",
            "fields": """
                1 text   string
                2 pieces message:SentencePieceText.SentencePiece*
                3 score  float
            """,
            "nested": [
                {
                    "name": "SentencePiece",
                    "fields": """
                        1 piece   string
                        2 id      uint32
                        3 surface string
                        4 begin   uint32
                        5 end     uint32
                    """,
                }
            ],
        },
        {
            "name": "NBestSentencePieceText",
            "extensible": False,
            "fields": """
                1 nbests message:SentencePieceText*
            """,
        },
    ],
)
SentencePieceText = _classes["SentencePieceText"]
NBestSentencePieceText = _classes["NBestSentencePieceText"]
