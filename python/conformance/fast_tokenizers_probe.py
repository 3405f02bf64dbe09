"""What the fast tokenizers of transformers give: one line of JSON for each call.

Run by ``transformers_surface.py`` with and without spiece: ``fast_tokenizers_probe.py MODULE FOLDER TOKENIZERS...``, where MODULE
is ``transformers`` or ``spiece.transformers`` and TOKENIZERS are folders.
"""

import copy
import hashlib
import os
import pathlib
import pickle
import sys
import warnings

import tokenizers
import transformers
from recording import Recorder
from transformers import AddedToken, AutoTokenizer

TEXTS = [
    "Hello world, this is one short text.",
    "  two  spaces, héllo 日本語 😀 e\u0301 \u00a0x",
    "don't 12345 \t tabs\nand\r\nlines 👩‍👩‍👧 ﷺ Ⅸ",
    "<s>a</s> [CLS] <|endoftext|> <unk> [MASK] b",
    "",
]
WORDS = ["Hello", "wörld", "", " a b", "日本語", "don't"]
TEMPLATE = "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}</s>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
CHAT = [{"role": "user", "content": "Hello <s> world"}, {"role": "assistant", "content": "Hi"}]

#: Keywords of calls.
SETTINGS = [
    {},
    {"add_special_tokens": False},
    {"split_special_tokens": True},
    {"truncation": True, "max_length": 6},
    {"truncation": "longest_first", "max_length": 7, "stride": 2, "return_overflowing_tokens": True},
    {"truncation": "only_first", "max_length": 5, "return_overflowing_tokens": True, "return_offsets_mapping": True},
    {"truncation": "only_second", "max_length": 9},
    {"truncation": True, "max_length": 1},
    {"truncation": True, "max_length": 3, "stride": 3},
    {"padding": True},
    {"padding": "max_length", "max_length": 24},
    {"padding": True, "pad_to_multiple_of": 8, "return_tensors": "np"},
    {"padding": "max_length", "truncation": True, "max_length": 8, "return_special_tokens_mask": True, "return_length": True},
    {"return_offsets_mapping": True, "return_token_type_ids": True, "return_attention_mask": False},
]


class Probe:
    """The calls of one tokenizer."""

    def __init__(self, recorder, folder, scratch):
        self.recorder = recorder
        self.name = folder.name
        self.scratch = scratch / folder.name
        self.loaded = AutoTokenizer.from_pretrained(folder)
        if self.loaded.chat_template is None:
            self.loaded.chat_template = TEMPLATE

    def call(self, label, function):
        """Records a call, and what it warns of."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.recorder.call(f"{self.name}: {label}", function)
        told = [str(warning.message) for warning in caught if "spiece.transformers" not in str(warning.message)]
        if told:
            self.recorder.call(f"{self.name}: warnings of {label}", lambda: told)

    def run(self):
        """All calls."""
        self.call("is fast", lambda: (type(self.loaded).__name__, self.loaded.is_fast, type(self.loaded._tokenizer).__module__))
        self.encode("", self.loaded)
        self.details(self.loaded)
        self.decode(self.loaded)
        self.conversions(self.loaded)
        self.chat(self.loaded)
        self.errors(self.loaded)
        self.copies()
        self.changes()
        self.components()
        self.training()

    def encode(self, label, tokenizer, settings=SETTINGS):
        """Texts, batches, pairs and words with all settings."""
        inputs = {
            "one": (TEXTS[1],),
            "pair": (TEXTS[0], TEXTS[2]),
            "batch": (TEXTS,),
            "pairs": (TEXTS, TEXTS[::-1]),
            "words": (WORDS, "words"),
            "batch of words": ([WORDS, WORDS[:2]], "words"),
        }
        for kind, (first, *rest) in inputs.items():
            for given in settings:
                is_words = rest == ["words"]
                second = [] if is_words else rest
                keywords = {**given, "is_split_into_words": True} if is_words else given
                self.call(f"{label} {kind} {given}", lambda: self.columns(tokenizer(first, *second, **keywords)))

    def columns(self, batch):
        """A BatchEncoding with its encodings."""
        encodings = [
            [encoding.ids, encoding.tokens, encoding.offsets, encoding.word_ids, encoding.sequence_ids, len(encoding.overflowing)]
            for encoding in batch.encodings
        ]
        return {**batch, "encodings": encodings, "is_fast": batch.is_fast, "n_sequences": batch.n_sequences if encodings else None}

    def details(self, tokenizer):
        """The calls of BatchEncoding that read encodings."""
        batch = tokenizer(TEXTS[:3], TEXTS[2::-1])
        single = tokenizer(TEXTS[1])
        for text in range(3):
            self.call(f"tokens {text}", lambda: batch.tokens(text))
            self.call(f"word_ids {text}", lambda: (batch.word_ids(text), batch.sequence_ids(text)))
            for place in (0, 1, 5, 12, 30, 99):
                for sequence in (0, 1):
                    given = (text, place, sequence)
                    self.call(f"char_to_token {given}", lambda: batch.char_to_token(text, place, sequence_index=sequence))
                    self.call(f"char_to_word {given}", lambda: batch.char_to_word(text, place, sequence_index=sequence))
                    self.call(f"word_to_tokens {given}", lambda: batch.word_to_tokens(text, place, sequence_index=sequence))
                    self.call(f"word_to_chars {given}", lambda: batch.word_to_chars(text, place, sequence_index=sequence))
                for name in ("token_to_sequence", "token_to_word", "token_to_chars"):
                    self.call(f"{name} {text} {place}", lambda: getattr(batch, name)(text, place))
        for place in (0, 3, 7):
            self.call(f"single {place}", lambda: (single.char_to_token(place), single.token_to_chars(place), single.token_to_word(place)))
        self.call("a batch of one encoding", lambda: transformers.BatchEncoding({"a": 1}, tokenizer._tokenizer.encode("a b")).tokens())
        self.call("a pickled batch", lambda: self.columns(pickle.loads(pickle.dumps(batch))))
        self.call("a copied batch", lambda: self.columns(copy.deepcopy(batch)))
        self.call("an item", lambda: (repr(batch[0]), batch[0].ids, batch["input_ids"], list(batch.keys())))
        self.call("merged", lambda: tokenizers.Encoding.merge(batch.encodings[:2]).offsets)

    def decode(self, tokenizer):
        """Ids to texts."""
        rows = tokenizer(TEXTS)["input_ids"]
        for skips in (False, True):
            for cleans in (None, False, True):
                keywords = {"skip_special_tokens": skips, "clean_up_tokenization_spaces": cleans}
                self.call(f"decode {keywords}", lambda: [tokenizer.decode(row, **keywords) for row in rows])
                self.call(f"batch_decode {keywords}", lambda: tokenizer.batch_decode(rows, **keywords))
        size = len(tokenizer)
        self.call("decode all", lambda: tokenizer.decode(list(range(0, size, max(1, size // 3000)))))
        self.call("decode each", lambda: [tokenizer.decode([id]) for id in range(0, size, max(1, size // 500))])
        self.call("decode one", lambda: tokenizer.decode(5))
        self.call("decode none", lambda: (tokenizer.decode([]), tokenizer.batch_decode([[], [3]])))
        self.call("decode unknown", lambda: tokenizer.decode([size + 5, 3]))
        self.call("decode negative", lambda: tokenizer.decode([-1]))
        self.call("decode texts", lambda: tokenizer.decode("ab"))

    def conversions(self, tokenizer):
        """Tokens, ids and vocabularies."""
        tokens = tokenizer.tokenize(TEXTS[1])
        self.call("tokenize", lambda: tokens)
        self.call("tokenize a pair", lambda: tokenizer.tokenize(TEXTS[0], TEXTS[1], add_special_tokens=True))
        self.call("encode", lambda: [tokenizer.encode(text, text, add_special_tokens=False) for text in TEXTS])
        self.call("convert_tokens_to_ids", lambda: tokenizer.convert_tokens_to_ids([*tokens, "no such token"]))
        self.call("convert_ids_to_tokens", lambda: tokenizer.convert_ids_to_tokens(tokenizer.encode(TEXTS[1]), skip_special_tokens=True))
        self.call("convert_tokens_to_string", lambda: tokenizer.convert_tokens_to_string(tokens))
        self.call("vocabulary", lambda: (len(tokenizer), tokenizer.vocab_size, sorted(tokenizer.get_vocab().items())[::97]))
        self.call("special", lambda: (tokenizer.special_tokens_map, tokenizer.all_special_ids, sorted(tokenizer.added_tokens_encoder.items())))
        self.call("added", lambda: {id: repr(token) for id, token in tokenizer.added_tokens_decoder.items()})
        self.call("number added", lambda: (tokenizer.num_special_tokens_to_add(), tokenizer.num_special_tokens_to_add(pair=True)))
        self.call("mask", lambda: tokenizer.get_special_tokens_mask(tokenizer.encode("a b"), already_has_special_tokens=True))
        if hasattr(tokenizer, "prepare_for_model"):
            self.call("prepare_for_model", lambda: dict(tokenizer.prepare_for_model(tokenizer.encode("a b"), add_special_tokens=False)))
        self.call("pad", lambda: dict(tokenizer.pad(tokenizer(TEXTS[:2]), padding="max_length", max_length=20)))

    def chat(self, tokenizer):
        """Chat templates."""
        for keywords in ({"tokenize": False}, {}, {"sanitize_control_tokens": True}, {"add_generation_prompt": True, "return_dict": True}, {"padding": True, "return_dict": True}):
            self.call(f"chat {keywords}", lambda: plain(tokenizer.apply_chat_template(CHAT, **keywords)))
            self.call(f"chats {keywords}", lambda: plain(tokenizer.apply_chat_template([CHAT, CHAT[:1]], **keywords)))

    def errors(self, tokenizer):
        """Calls that fail."""
        for wrong in (5, None, [5], [None], [["a", 5]], b"a", "\ud800", ["a", "\ud800"], [("a", "b", "c")]):
            self.call(f"wrong {wrong!r}", lambda: plain(tokenizer(wrong)))
            self.call(f"wrong words {wrong!r}", lambda: plain(tokenizer(wrong, is_split_into_words=True)))
        self.call("wrong pair", lambda: plain(tokenizer(["a"], ["b", "c"])))
        self.call("wrong backend", lambda: tokenizer._tokenizer.encode_batch("ab"))
        self.call("wrong backend keyword", lambda: tokenizer._tokenizer.encode("ab", nothing=1))
        self.call("wrong stride", lambda: plain(tokenizer("a b c d e f", truncation=True, max_length=4, stride=9)))
        self.call("wrong padding", lambda: plain(tokenizer("a", padding="most")))

    def copies(self):
        """Pickles, copies and files."""
        for label, made in (
            ("pickled", pickle.loads(pickle.dumps(self.loaded))),
            ("deepcopied", copy.deepcopy(self.loaded)),
            ("of object", transformers.PreTrainedTokenizerFast(tokenizer_object=self.loaded._tokenizer)),
        ):
            self.encode(label, made, SETTINGS[3:5])
        self.call("pickle", lambda: digest(pickle.dumps(self.loaded)))
        self.call("saved", lambda: [os.path.basename(file) for file in self.loaded.save_pretrained(self.scratch)])
        self.call("files", lambda: {file.name: digest(file.read_bytes()) for file in sorted(self.scratch.glob("*.json*"))})
        again = AutoTokenizer.from_pretrained(self.scratch)
        self.encode("saved", again, SETTINGS[:1])

    def changes(self):
        """Added tokens."""
        tokenizer = copy.deepcopy(self.loaded)
        tokenizer("a")
        self.call("add", lambda: tokenizer.add_tokens(["Hello", AddedToken("two ", lstrip=True, normalized=False), "日本"]))
        self.encode("added", tokenizer, SETTINGS[:2])
        self.call("add special", lambda: tokenizer.add_special_tokens({"pad_token": "<new pad>", "additional_special_tokens": ["don"]}))
        self.encode("added special", tokenizer, SETTINGS[9:10])
        self.call("decode added", lambda: tokenizer.decode(tokenizer.encode(TEXTS[0]), skip_special_tokens=True))
        tokenizer.split_special_tokens = True
        self.encode("split", tokenizer, SETTINGS[:1])
        tokenizer.padding_side = tokenizer.truncation_side = "left"
        self.encode("left", tokenizer, [SETTINGS[4], SETTINGS[10], SETTINGS[12]])

    def components(self):
        """Components that programs read and set."""
        tokenizer = copy.deepcopy(self.loaded)
        backend = tokenizer.backend_tokenizer
        names = ("normalizer", "pre_tokenizer", "post_processor", "decoder", "model")
        self.call("is a Tokenizer", lambda: (isinstance(backend, tokenizers.Tokenizer), backend is tokenizer._tokenizer))
        self.call("classes", lambda: [type(getattr(backend, name)).__name__ for name in names])
        self.call("text", lambda: (str(backend), repr(backend)[:5000]))
        self.encode("read", tokenizer, SETTINGS[:1])
        for name, value in (
            ("normalizer", tokenizers.normalizers.Lowercase()),
            ("pre_tokenizer", tokenizers.pre_tokenizers.Sequence([tokenizers.pre_tokenizers.WhitespaceSplit()])),
            ("post_processor", tokenizers.processors.ByteLevel(trim_offsets=False)),
            ("decoder", tokenizers.decoders.Replace("e", "3")),
        ):
            self.call(f"set {name}", lambda: setattr(backend, name, value))
            self.encode(f"set {name}", tokenizer, SETTINGS[:1])
            self.call(f"decode with {name}", lambda: tokenizer.decode(tokenizer.encode(TEXTS[0])))
        backend.pre_tokenizer[0] = tokenizers.pre_tokenizers.Punctuation("isolated")
        self.encode("changed a member", tokenizer, SETTINGS[:1])
        member = backend.pre_tokenizer[0]
        self.encode("read a member", tokenizer, SETTINGS[:1])
        member.behavior = "removed"
        self.encode("changed a held member", tokenizer, SETTINGS[:1])
        backend.pre_tokenizer = split = tokenizers.pre_tokenizers.Metaspace()
        self.encode("set Metaspace", tokenizer, SETTINGS[:1])
        split.replacement = "_"
        self.encode("changed Metaspace", tokenizer, SETTINGS[:1])
        backend.pre_tokenizer = tokenizers.pre_tokenizers.PreTokenizer.custom(Halves())
        self.encode("set a custom one", tokenizer, SETTINGS[:1])
        backend.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
        backend.normalizer = None
        self.encode("set one of the package", tokenizer, SETTINGS[:1])
        self.call("processed", lambda: backend.post_processor.process(backend.encode("a b", add_special_tokens=False)).tokens)
        self.call("post_process", lambda: backend.post_process(backend.encode("a b", add_special_tokens=False)).tokens)
        self.call("stream", lambda: [tokenizers.decoders.DecodeStream().step(backend, id) for id in tokenizer.encode("Hello")])
        self.call("fast", lambda: [encoding.ids for encoding in backend.encode_batch_fast(TEXTS)])
        self.call("change model", lambda: setattr(backend.model, "unk_token", None))
        # Of words that it has seen, the model of the package keeps the tokens that they had before.
        self.call("changed model", lambda: self.columns(tokenizer("Zq\u0416 \u65e5zz QZ")))

    def training(self):
        """A tokenizer that is trained anew."""
        trained = []
        self.call("train", lambda: trained.append(self.loaded.train_new_from_iterator([TEXTS * 3], 300, show_progress=False)))
        for tokenizer in trained:
            # With words of equal counts, the tokens differ between two runs of the package.
            self.call("trained", lambda: (type(tokenizer).__name__, bool(tokenizer(TEXTS)["input_ids"])))


class Halves:
    """A pre-tokenizer in Python."""

    def pre_tokenize(self, text):
        """Cuts a text in the middle."""
        text.split(lambda _, part: [part[: len(str(part)) // 2], part[len(str(part)) // 2 :]])


def digest(content):
    """A long content in short."""
    return (len(content), hashlib.sha256(content).hexdigest())


def plain(value):
    """A result as a dict, if it is one."""
    return dict(value) if hasattr(value, "keys") else value


def main():
    """Probes all tokenizers."""
    module, scratch, *folders = sys.argv[1:]
    transformers.logging.set_verbosity_error()
    # What the package prints, when it trains, does not belong to the results.
    sys.stdout = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    recorder = Recorder()
    if module == "spiece.transformers":
        import spiece.transformers

        spiece.transformers.enable()
    scratch, refusals = pathlib.Path(scratch), []
    for folder in map(pathlib.Path, folders):
        try:
            probe = Probe(recorder, folder, scratch)
        except Exception as error:  # noqa: BLE001  (some releases cannot load some files)
            recorder.call(f"{folder.name}: not loaded", lambda: str(error))
            continue
        if module == "spiece.transformers":
            reason = spiece.transformers.refusal(probe.loaded)
            refusals += [f"{folder.name}: {reason}\n"] if reason else []
        probe.run()
    if module == "spiece.transformers":
        spiece.transformers.disable()
        (scratch / "refusals.txt").write_text("".join(refusals))
    recorder.call("afterwards", lambda: str(vars(tokenizers.Tokenizer)["encode"]))


if __name__ == "__main__":
    main()
