"""The messages of ``sentencepiece_model.proto``: the content of ``.model`` files."""

from ._schema import messages

DESCRIPTOR, _classes = messages(
    __name__,
    "sentencepiece_model.proto",
    [
        {
            "name": "TrainerSpec",
            "fields": """
                1 input string*
                7 input_format string
                2 model_prefix string
                3 model_type enum:TrainerSpec.ModelType UNIGRAM
                4 vocab_size int32 8000
                10 character_coverage float 0.9995
                11 input_sentence_size uint64 0
                19 shuffle_input_sentence bool true
                14 seed_sentencepiece_size int32 1000000
                15 shrinking_factor float 0.75
                18 max_sentence_length int32 4192
                16 num_threads int32 16
                17 num_sub_iterations int32 2
                20 max_sentencepiece_length int32 16
                21 split_by_unicode_script bool true
                23 split_by_number bool true
                22 split_by_whitespace bool true
                24 treat_whitespace_as_suffix bool false
                26 allow_whitespace_only_pieces bool false
                25 split_digits bool false
                53 pretokenization_delimiter string ||
                30 control_symbols string*
                31 user_defined_symbols string*
                36 required_chars string
                35 byte_fallback bool false
                32 vocabulary_output_piece_score bool true
                33 hard_vocab_limit bool true
                34 use_all_vocab bool false
                40 unk_id int32 0
                41 bos_id int32 1
                42 eos_id int32 2
                43 pad_id int32 -1
                45 unk_piece string <unk>
                46 bos_piece string <s>
                47 eos_piece string </s>
                48 pad_piece string <pad>
                44 unk_surface string | ⁇ |
                54 seed_sentencepieces_file string ||
                55 auto_character_coverage bool false
                5 accept_language string*
                6 self_test_sample_size int32 0
                12 mining_sentence_size int32
                13 training_sentence_size int32
                49 train_extremely_large_corpus bool false
                50 enable_differential_privacy bool false
                51 differential_privacy_noise_level float 0
                52 differential_privacy_clipping_threshold uint64 0
            """,
            "enums": {"ModelType": {"UNIGRAM": 1, "BPE": 2, "WORD": 3, "CHAR": 4}},
        },
        {
            "name": "NormalizerSpec",
            "fields": """
                1 name string
                2 precompiled_charsmap bytes
                3 add_dummy_prefix bool true
                4 remove_extra_whitespaces bool true
                5 escape_whitespaces bool true
                6 normalization_rule_tsv string
            """,
        },
        {
            "name": "SelfTestData",
            "fields": """
                1 samples message:SelfTestData.Sample*
            """,
            "nested": [
                {
                    "name": "Sample",
                    "extensible": False,
                    "fields": """
                        1 input string
                        2 expected string
                    """,
                }
            ],
        },
        {
            "name": "ModelProto",
            "fields": """
                1 pieces message:ModelProto.SentencePiece*
                2 trainer_spec message:TrainerSpec
                3 normalizer_spec message:NormalizerSpec
                4 self_test_data message:SelfTestData
                5 denormalizer_spec message:NormalizerSpec
            """,
            "nested": [
                {
                    "name": "SentencePiece",
                    "fields": """
                        1 piece string
                        2 score float
                        3 type enum:ModelProto.SentencePiece.Type NORMAL
                    """,
                    "enums": {
                        "Type": {
                            "NORMAL": 1,
                            "UNKNOWN": 2,
                            "CONTROL": 3,
                            "USER_DEFINED": 4,
                            "BYTE": 6,
                            "UNUSED": 5,
                        }
                    },
                }
            ],
        },
    ],
)
TrainerSpec = _classes["TrainerSpec"]
NormalizerSpec = _classes["NormalizerSpec"]
SelfTestData = _classes["SelfTestData"]
ModelProto = _classes["ModelProto"]
