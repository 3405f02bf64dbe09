"""Calls that the reference's package had until 0.2.1 and lacks since 0.2.2."""


class OldProcessor:
    """Methods of ``SentencePieceProcessor`` until 0.2.1."""

    __slots__ = ()

    def Init(self, *args, **kwargs):
        """Sets up the processor again, like its constructor."""
        self.__init__(*args, **kwargs)

    def EncodeAsSerializedProto(self, input, **kwargs):
        """The bytes of a ``SentencePieceText``."""
        return self._encode_as(input, "serialized_proto", False, **kwargs)

    def EncodeAsImmutableProto(self, input, **kwargs):
        """An ``ImmutableSentencePieceText``."""
        return self._encode_as(input, "immutable_proto", False, **kwargs)

    def SampleEncodeAsSerializedProto(self, input, nbest_size=None, alpha=None, **kwargs):
        """The bytes of a ``SentencePieceText`` with a random segmentation."""
        return self._encode_as(input, "serialized_proto", True, nbest_size=nbest_size, alpha=alpha, **kwargs)

    def SampleEncodeAsImmutableProto(self, input, nbest_size=None, alpha=None, **kwargs):
        """An ``ImmutableSentencePieceText`` with a random segmentation."""
        return self._encode_as(input, "immutable_proto", True, nbest_size=nbest_size, alpha=alpha, **kwargs)

    def NBestEncodeAsSerializedProto(self, input, nbest_size=None, **kwargs):
        """The bytes of an ``NBestSentencePieceText``."""
        return self._nbest(input, nbest_size, "serialized_proto", **kwargs)

    def NBestEncodeAsImmutableProto(self, input, nbest_size=None, **kwargs):
        """An ``ImmutableNBestSentencePieceText``."""
        return self._nbest(input, nbest_size, "immutable_proto", **kwargs)

    def SampleEncodeAndScore(
        self,
        input,
        out_type=None,
        add_bos=None,
        add_eos=None,
        reverse=None,
        emit_unk_piece=None,
        num_samples=None,
        alpha=None,
        wor=None,
        include_best=None,
    ):
        """Random segmentations with their scores, of unigram models: a list of pairs.

        ``num_samples`` segmentations (1) are drawn with probabilities in proportion to exp(``alpha`` * score) (1.0). Scores
        are logarithms of these probabilities, or, without replacement (``wor=True``), of the probabilities that the sample
        has the segmentation. ``include_best=True``, which needs ``wor=True``, puts the best segmentation first.

            sp.SampleEncodeAndScore("Hello world", num_samples=5, alpha=0.5, wor=True)
        """
        numbers = (
            1 if num_samples is None else num_samples,
            1.0 if alpha is None else alpha,
            False if wor is None else wor,
            False if include_best is None else include_best,
        )
        return self._sample_with_scores(
            input,
            numbers,
            out_type=out_type,
            add_bos=add_bos,
            add_eos=add_eos,
            reverse=reverse,
            emit_unk_piece=emit_unk_piece,
        )

    def SampleEncodeAndScoreAsPieces(self, input, num_samples=None, alpha=None, **kwargs):
        """Pairs of pieces and a score; see ``SampleEncodeAndScore``."""
        return self.SampleEncodeAndScore(input, str, num_samples=num_samples, alpha=alpha, **kwargs)

    def SampleEncodeAndScoreAsIds(self, input, num_samples=None, alpha=None, **kwargs):
        """Pairs of ids and a score; see ``SampleEncodeAndScore``."""
        return self.SampleEncodeAndScore(input, int, num_samples=num_samples, alpha=alpha, **kwargs)

    def SampleEncodeAndScoreAsSerializedProto(self, input, num_samples=None, alpha=None, **kwargs):
        """The bytes of an ``NBestSentencePieceText``; see ``SampleEncodeAndScore``."""
        return self.SampleEncodeAndScore(input, "serialized_proto", num_samples=num_samples, alpha=alpha, **kwargs)

    def SampleEncodeAndScoreAsImmutableProto(self, input, num_samples=None, alpha=None, **kwargs):
        """An ``ImmutableNBestSentencePieceText``; see ``SampleEncodeAndScore``."""
        return self.SampleEncodeAndScore(input, "immutable_proto", num_samples=num_samples, alpha=alpha, **kwargs)

    def CalculateEntropy(self, input, alpha, num_threads=None):
        """The entropy of the segmentations of a text, or of each text of a list, in nats. For unigram models.

        Segmentations have probabilities in proportion to exp(``alpha`` * score).
        """
        if num_threads is not None and type(num_threads) is not int:
            raise RuntimeError("num_threads must be int")
        return self._entropy(input, alpha, num_threads)

    def DecodePiecesAsSerializedProto(self, input, out_type="serialized_proto", **kwargs):
        """The bytes of a ``SentencePieceText``."""
        return self._decode(input, out_type=out_type, **kwargs)

    def DecodeIdsAsSerializedProto(self, input, out_type="serialized_proto", **kwargs):
        """The bytes of a ``SentencePieceText``."""
        return self._decode(input, out_type=out_type, **kwargs)

    def DecodePiecesAsImmutableProto(self, input, out_type="immutable_proto", **kwargs):
        """An ``ImmutableSentencePieceText``."""
        return self._decode(input, out_type=out_type, **kwargs)

    def DecodeIdsAsImmutableProto(self, input, out_type="immutable_proto", **kwargs):
        """An ``ImmutableSentencePieceText``."""
        return self._decode(input, out_type=out_type, **kwargs)

    def SetEncodeExtraOptions(self, extra_option):
        """Options of all following calls of ``encode``: ``bos``, ``eos``, ``reverse``, ``unk``, separated by colons."""
        return self._set_encode_extra(extra_option)

    def SetDecodeExtraOptions(self, extra_option):
        """Options of all following calls of ``decode``; only ``reverse`` has an effect."""
        return self._set_decode_extra(extra_option)

    def SetVocabulary(self, valid_vocab):
        """Only these pieces and single characters are given from now on."""
        return self._restrict(list(valid_vocab))

    def ResetVocabulary(self):
        """All pieces are given again."""
        return self._unrestrict()

    def LoadVocabulary(self, filename, threshold):
        """Like ``SetVocabulary``, with the pieces of a file (piece, tab, count) that occur ``threshold`` times or more."""
        pieces = []
        with open(filename, encoding="utf-8", newline="\n") as lines:
            for line in lines:
                piece, *rest = line.rstrip("\n").split("\t")
                if not piece:
                    raise RuntimeError(f"INTERNAL: {filename} has a line without a piece")
                if (int(rest[0]) if rest else 1) >= threshold:
                    pieces.append(piece)
        return self._restrict(pieces)

    def OverrideNormalizerSpec(self, **kwargs):
        """Replaces flags of the normalizer: ``add_dummy_prefix``, ``remove_extra_whitespaces``, ``escape_whitespaces``."""
        return self._override_normalizer([(name, str(value)) for name, value in kwargs.items()])


class OldNormalizer:
    """Methods of ``SentencePieceNormalizer`` until 0.2.1."""

    __slots__ = ()

    def Init(self, *args, **kwargs):
        """Sets up the normalizer again, like its constructor."""
        self.__init__(*args, **kwargs)
