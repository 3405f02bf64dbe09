"""Made-up folders with a `.model`, and what `AutoTokenizer` of transformers makes of hostile texts.

Usage: folders.py MODELS OUT FIRST LAST [TEXTS] > cases.jsonl
       SPIECE_PIPELINES=cases.jsonl cargo test --release --lib --all-features cases_of_a_file -- --ignored

Needs transformers 5.24.0. MODELS is a folder with `.model` files, OUT is where the folders are made. Each number from
FIRST to LAST is the seed of a folder: a model, a class, settings and the files beside the model, all chosen at random.
A line has the path of the folder, what stands around a text, and for each of TEXTS (300) texts what `pipelines.py`
records; the last command compares it with the library. Folders that transformers refuses are counted on standard error.
"""

import json
import pathlib
import random
import shutil
import sys
import warnings

import pipelines
import transformers
from transformers import AutoTokenizer

FILES = {
    "AlbertTokenizer": "spiece.model", "FNetTokenizer": "spiece.model", "BarthezTokenizer": "sentencepiece.bpe.model",
    "BigBirdTokenizer": "spiece.model", "CamembertTokenizer": "sentencepiece.bpe.model",
    "DebertaV2Tokenizer": "spm.model", "MBartTokenizer": "sentencepiece.bpe.model",
    "MBart50Tokenizer": "sentencepiece.bpe.model", "NllbTokenizer": "sentencepiece.bpe.model",
    "PegasusTokenizer": "spiece.model", "ReformerTokenizer": "spiece.model", "RemBertTokenizer": "sentencepiece.model",
    "T5Tokenizer": "spiece.model", "VideoPrismTokenizer": "spiece.model",
    "XLMRobertaTokenizer": "sentencepiece.bpe.model", "XLNetTokenizer": "spiece.model",
}  # fmt: skip
# These read `tokenizer.model` alone. `None`: the class is left out.
COMMON = [
    "CodeLlamaTokenizer", "GemmaTokenizer", "LlamaTokenizer", "LlamaTokenizer", "PreTrainedTokenizerFast",
    "Siglip2Tokenizer", "Tipsv2Tokenizer", "TokenizersBackend", "XGLMTokenizer", None,
]  # fmt: skip
FLAGS = [
    "add_bos_token", "add_eos_token", "add_prefix_space", "clean_up_tokenization_spaces", "do_lower_case", "keep_accents",
    "legacy", "legacy_behaviour", "split_by_punct",
]  # fmt: skip
ROLES = ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"]
NAMES = ["<s>", "</s>", "<unk>", "<pad>", "[CLS]", "[SEP]", "[MASK]", "<mask>", "<new>", "a b", "▁a", "de_DE", "<sep>"]


class Maker(pipelines.Maker):
    def pieces(self, path):
        from sentencepiece import sentencepiece_model_pb2

        proto = sentencepiece_model_pb2.ModelProto()
        proto.ParseFromString(path.read_bytes())
        return [piece.piece for piece in proto.pieces]

    def name(self):
        return self.random.choice(NAMES) if self.is_on(0.7) else self.random.choice(self.pieces_of_model)

    def token(self, may_be_text=True):
        if may_be_text and self.is_on():
            return self.name()
        flags = {flag: self.is_on(0.3) for flag in ["single_word", "lstrip", "rstrip", "normalized"]}
        return {"content": self.name(), "special": self.is_on(), **flags}

    def typed_token(self):
        token = self.token()
        return token if isinstance(token, str) else {"__type": "AddedToken", **token}

    def config(self, kind):
        config = {} if kind is None else {"tokenizer_class": kind + self.random.choice(["", "", "Fast"])}
        if kind in ("PreTrainedTokenizerFast", "TokenizersBackend"):
            config["tokenizer_class"] = kind
        for flag in FLAGS:
            if self.is_on(0.2):
                config[flag] = self.random.choice([True, False])
        for role in ROLES:
            if self.is_on(0.15):
                config[role] = self.typed_token() if self.is_on(0.9) else None
        if self.is_on(0.2):
            config["image_token"] = self.name()
        if self.is_on(0.2):
            tokens = [self.typed_token() for _ in range(self.random.randint(0, 3))]
            config[self.random.choice(["additional_special_tokens", "extra_special_tokens"])] = tokens
        if self.is_on(0.1):
            config["src_lang"] = self.random.choice(["de_DE", "fr_XX", "eng_Latn"])
        if self.is_on(0.1):
            config["extra_ids"] = self.random.choice([0, 7])
        if self.is_on(0.3):
            first = self.random.choice([0, len(self.pieces_of_model)])
            tokens = {str(first + at): self.token(may_be_text=False) for at in range(self.random.randint(0, 4))}
            config["added_tokens_decoder"] = tokens
        return config

    def files(self, kind):
        """The files beside the model."""
        files = {}
        config = self.config(kind)
        if config or self.is_on():
            files["tokenizer_config.json"] = config
        if self.is_on(0.3):
            first = len(self.pieces_of_model)
            names = [self.name() for _ in range(self.random.randint(0, 3))]
            files["added_tokens.json"] = {name: first + at for at, name in enumerate(names)}
        if self.is_on(0.3):
            roles = self.random.sample(ROLES, self.random.randint(0, 4))
            files["special_tokens_map.json"] = {role: self.token() for role in roles}
        if self.is_on(0.2):
            model_type = self.random.choice(["llama", "mistral", "t5", "phi3", "xlm-roberta"])
            files["config.json"] = {"model_type": model_type}
        return files

    def folder(self, models, out):
        path = self.random.choice(models)
        self.pieces_of_model = self.pieces(path)
        kind = self.random.choice([*FILES, *COMMON])
        folder = out / f"{self.seed}-{path.stem}-{kind}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        shutil.copy(path, folder / FILES.get(kind, "tokenizer.model"))
        for name, content in self.files(kind).items():
            (folder / name).write_text(json.dumps(content, ensure_ascii=False))
        return folder


def results(tokenizer, text):
    found = pipelines.results_or_error(tokenizer.backend_tokenizer, text)
    if "ids" in found:
        found["decoded"] = tokenizer.decode(found["ids"])
        found["without_special"] = tokenizer.decode(found["ids"], skip_special_tokens=True)
    return found


def main():
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity(transformers.logging.CRITICAL)
    models = sorted(pathlib.Path(sys.argv[1]).glob("*.model"))
    out = pathlib.Path(sys.argv[2])
    first, last = map(int, sys.argv[3:5])
    texts = pipelines.texts_of_files(int(sys.argv[5]) if len(sys.argv) > 5 else 300)
    refused = 0
    for seed in range(first, last + 1):
        maker = Maker(seed)
        folder = maker.folder(models, out)
        try:
            tokenizer = AutoTokenizer.from_pretrained(folder)
            around = tokenizer.encode("a"), tokenizer.encode("a", add_special_tokens=False)
        except Exception as error:
            refused += 1
            print(f"{folder.name}: {type(error).__name__}: {str(error).splitlines()[0][:120]}", file=sys.stderr)
            continue
        names = [str(name) for name in tokenizer.get_added_vocab()][:20]
        own = maker.texts([*names, *NAMES])
        found = [results(tokenizer, text) for text in texts + own]
        case = {"path": str(folder.resolve()), "around": around, "texts": found}
        print(json.dumps(case, ensure_ascii=False))
    print(f"{refused} of {last + 1 - first} folders are refused", file=sys.stderr)


if __name__ == "__main__":
    main()
