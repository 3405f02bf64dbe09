"""The messages of ``sentencepiece_model.proto``: the content of ``.model`` files."""

from collections.abc import Iterable

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.internal.containers import RepeatedCompositeFieldContainer, RepeatedScalarFieldContainer
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from google.protobuf.message import Message

DESCRIPTOR: FileDescriptor

class TrainerSpec(Message):
    ModelType: EnumTypeWrapper
    UNIGRAM: int
    BPE: int
    WORD: int
    CHAR: int
    @property
    def input(self) -> RepeatedScalarFieldContainer[str]: ...
    input_format: str
    model_prefix: str
    model_type: int
    vocab_size: int
    character_coverage: float
    input_sentence_size: int
    shuffle_input_sentence: bool
    seed_sentencepiece_size: int
    shrinking_factor: float
    max_sentence_length: int
    num_threads: int
    num_sub_iterations: int
    max_sentencepiece_length: int
    split_by_unicode_script: bool
    split_by_number: bool
    split_by_whitespace: bool
    treat_whitespace_as_suffix: bool
    allow_whitespace_only_pieces: bool
    split_digits: bool
    pretokenization_delimiter: str
    @property
    def control_symbols(self) -> RepeatedScalarFieldContainer[str]: ...
    @property
    def user_defined_symbols(self) -> RepeatedScalarFieldContainer[str]: ...
    required_chars: str
    byte_fallback: bool
    vocabulary_output_piece_score: bool
    hard_vocab_limit: bool
    use_all_vocab: bool
    unk_id: int
    bos_id: int
    eos_id: int
    pad_id: int
    unk_piece: str
    bos_piece: str
    eos_piece: str
    pad_piece: str
    unk_surface: str
    seed_sentencepieces_file: str
    auto_character_coverage: bool
    @property
    def accept_language(self) -> RepeatedScalarFieldContainer[str]: ...
    self_test_sample_size: int
    mining_sentence_size: int
    training_sentence_size: int
    train_extremely_large_corpus: bool
    enable_differential_privacy: bool
    differential_privacy_noise_level: float
    differential_privacy_clipping_threshold: int
    def __init__(
        self,
        *,
        input: Iterable[str] | None = None,
        input_format: str | None = None,
        model_prefix: str | None = None,
        model_type: int | None = None,
        vocab_size: int | None = None,
        character_coverage: float | None = None,
        input_sentence_size: int | None = None,
        shuffle_input_sentence: bool | None = None,
        seed_sentencepiece_size: int | None = None,
        shrinking_factor: float | None = None,
        max_sentence_length: int | None = None,
        num_threads: int | None = None,
        num_sub_iterations: int | None = None,
        max_sentencepiece_length: int | None = None,
        split_by_unicode_script: bool | None = None,
        split_by_number: bool | None = None,
        split_by_whitespace: bool | None = None,
        treat_whitespace_as_suffix: bool | None = None,
        allow_whitespace_only_pieces: bool | None = None,
        split_digits: bool | None = None,
        pretokenization_delimiter: str | None = None,
        control_symbols: Iterable[str] | None = None,
        user_defined_symbols: Iterable[str] | None = None,
        required_chars: str | None = None,
        byte_fallback: bool | None = None,
        vocabulary_output_piece_score: bool | None = None,
        hard_vocab_limit: bool | None = None,
        use_all_vocab: bool | None = None,
        unk_id: int | None = None,
        bos_id: int | None = None,
        eos_id: int | None = None,
        pad_id: int | None = None,
        unk_piece: str | None = None,
        bos_piece: str | None = None,
        eos_piece: str | None = None,
        pad_piece: str | None = None,
        unk_surface: str | None = None,
        seed_sentencepieces_file: str | None = None,
        auto_character_coverage: bool | None = None,
        accept_language: Iterable[str] | None = None,
        self_test_sample_size: int | None = None,
        mining_sentence_size: int | None = None,
        training_sentence_size: int | None = None,
        train_extremely_large_corpus: bool | None = None,
        enable_differential_privacy: bool | None = None,
        differential_privacy_noise_level: float | None = None,
        differential_privacy_clipping_threshold: int | None = None,
    ) -> None: ...

class NormalizerSpec(Message):
    name: str
    precompiled_charsmap: bytes
    add_dummy_prefix: bool
    remove_extra_whitespaces: bool
    escape_whitespaces: bool
    normalization_rule_tsv: str
    def __init__(
        self,
        *,
        name: str | None = None,
        precompiled_charsmap: bytes | None = None,
        add_dummy_prefix: bool | None = None,
        remove_extra_whitespaces: bool | None = None,
        escape_whitespaces: bool | None = None,
        normalization_rule_tsv: str | None = None,
    ) -> None: ...

class SelfTestData(Message):
    class Sample(Message):
        input: str
        expected: str
        def __init__(
            self,
            *,
            input: str | None = None,
            expected: str | None = None,
        ) -> None: ...
    @property
    def samples(self) -> RepeatedCompositeFieldContainer[SelfTestData.Sample]: ...
    def __init__(
        self,
        *,
        samples: Iterable[SelfTestData.Sample] | None = None,
    ) -> None: ...

class ModelProto(Message):
    class SentencePiece(Message):
        Type: EnumTypeWrapper
        NORMAL: int
        UNKNOWN: int
        CONTROL: int
        USER_DEFINED: int
        BYTE: int
        UNUSED: int
        piece: str
        score: float
        type: int
        def __init__(
            self,
            *,
            piece: str | None = None,
            score: float | None = None,
            type: int | None = None,
        ) -> None: ...
    @property
    def pieces(self) -> RepeatedCompositeFieldContainer[ModelProto.SentencePiece]: ...
    @property
    def trainer_spec(self) -> TrainerSpec: ...
    @property
    def normalizer_spec(self) -> NormalizerSpec: ...
    @property
    def self_test_data(self) -> SelfTestData: ...
    @property
    def denormalizer_spec(self) -> NormalizerSpec: ...
    def __init__(
        self,
        *,
        pieces: Iterable[ModelProto.SentencePiece] | None = None,
        trainer_spec: TrainerSpec | None = None,
        normalizer_spec: NormalizerSpec | None = None,
        self_test_data: SelfTestData | None = None,
        denormalizer_spec: NormalizerSpec | None = None,
    ) -> None: ...
