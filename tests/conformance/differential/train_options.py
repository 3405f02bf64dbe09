"""Random options of training.

Job: draw options over everything that bears on training: mostly valid, sometimes at or beyond a limit.
Input: a `random.Random`, the corpus's files. Output: flags by name (as text), and the files that they name.

Each flag is drawn independently with a small probability, so that a case changes a handful of flags at once and
pairs of flags meet over many cases. Values out of range test that both sides refuse.
"""

from . import flags, texts

RULE_NAMES = ["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"]

# Probability of drawing a value that must be refused, for each flag that has such values.
INVALID_SHARE = 0.004

SWITCHES = [
    "split_by_unicode_script", "split_by_number", "split_by_whitespace", "split_digits",
    "treat_whitespace_as_suffix", "allow_whitespace_only_pieces", "add_dummy_prefix", "remove_extra_whitespaces",
    "vocabulary_output_piece_score",
]

# Flags that are recorded in every model and that change unigram models.
UNIGRAM = {
    "seed_sentencepiece_size": ["0", "1", "10", "100", "1000", "2147483647", "-5"],
    "shrinking_factor": ["0.5", "0.95", "0.8000000001"],
    "num_sub_iterations": ["1", "3", "10"],
}

# Flags that are recorded in the model and change nothing else.
RECORDED_ONLY = {
    "unk_surface": ["", "?", " \u2047", "\u2581", "<unk>"],
}

INVALID = {
    "vocab_size": ["0", "-1", "2147483648", "x", "1.5", ""],
    "character_coverage": ["0.97", "1.01", "nan", "-1", "x"],
    "max_sentence_length": ["9", "1073741825", "-3"],
    "max_sentencepiece_length": ["0", "513", "-1"],
    "num_threads": ["0", "1025", "-1"],
    "input_sentence_size": ["1", "100"],
    "shrinking_factor": ["0.49", "0.96"],
    "num_sub_iterations": ["0", "11"],
    "input_format": ["csv", "TEXT"],
    "model_type": ["bpee", ""],
    "use_all_vocab": ["true"],
    "seed_sentencepieces_file": ["none.tsv"],
    "normalization_rule_name": ["nfd", "NFKC"],
    "unk_piece": [""],
    "bos_piece": [""],
    "eos_piece": ["", "<unk>"],
    "pad_piece": [""],
    "byte_fallback": ["perhaps"],
    "unk_id": ["-1", "-2", "1", "100000"],
    "bos_id": ["0", "2", "2000000000"],
    "control_symbols": ["<unk>", "a,a", ",b", '""'],
    "user_defined_symbols": ["<unk>", "x,x", "<0x41>"],
}

SYMBOLS = [
    "<sep>", "<mask>", "<s>", "</s>", "<pad>", "[INST]", "a", "ab", "the", "\u2581a", "\u2581", "\u3042", "e\u0301",
    "1", "12", "\U0001f600", "<0x41>", "a b", "\u7684\u7684", "x,y", 'q"q', "\u2585", "\u001f",
]


def _ids(rng):
    """Ids of the special pieces: permuted, far apart, missing, seldom equal."""
    kind = rng.random()
    if kind < 0.5:
        values = rng.sample(range(4), 4)
    elif kind < 0.8:
        values = rng.sample([0, 1, 2, 3, 5, 7, 30, 60], 4)
    else:
        values = [rng.randrange(-1, 6) for _ in range(4)]
    result = dict(zip(["unk_id", "bos_id", "eos_id", "pad_id"], map(str, values)))
    for name in ["bos_id", "eos_id", "pad_id"]:
        if rng.random() < 0.25:
            result[name] = "-1"
    return result


def _symbol_list(rng, corpus):
    words = corpus.decode("utf-8", "ignore").replace("\0", "").split()
    symbols = rng.sample(SYMBOLS, rng.randint(1, 4))
    if words:
        found = rng.choice(words)
        start = rng.randrange(len(found))
        symbols.append(found[start : start + rng.randint(1, 4)])
    if rng.random() < 0.9:
        symbols = list(dict.fromkeys(symbols))
    return symbols


def _symbols(rng, name, corpus, options, files):
    symbols = _symbol_list(rng, corpus)
    if rng.random() < 0.2:
        file_name = f"{name}.txt"
        files[file_name] = ("\n".join(symbols) + rng.choice(["", "\n"])).encode()
        options[f"{name}_file"] = file_name
        symbols = symbols[:1] if rng.random() < 0.1 else []
    if symbols:
        options[name] = ",".join(flags.quote(s) if set(s) & set(',"') else s for s in symbols)


def _vocab_size(rng, corpus, options):
    """Around the smallest size that holds all characters, or well above it."""
    characters = len(set(corpus.decode("utf-8", "ignore")))
    bytes_needed = 256 if options.get("byte_fallback") == "true" else 0
    room = rng.choice([0, 1, 5, 20, 60, 150, 400, 900])
    return str(max(1, characters + bytes_needed + room + rng.randint(-3, 8)))


def _alphabet(rng, corpus, options, files):
    if rng.random() < 0.35:
        options["character_coverage"] = rng.choice(["0.98", "0.99", "0.995", "1", "1.0", "0.9999", "0.98765"])
    if rng.random() < 0.12:
        chosen = [rng.choice(corpus.decode("utf-8", "ignore").replace("\0", "") or "a") for _ in range(3)]
        required = "".join(chosen) + rng.choice(["", "\u00e9\u4e00", "zz", " ", "\u2581", "\u2585", "\u001f", "\u00c5"])
        if rng.random() < 0.3:
            files["required.txt"] = required.encode() + rng.choice([b"", b"\n", b"\nq\n"])
            options["required_chars_file"] = "required.txt"
        else:
            options["required_chars"] = required
    if rng.random() < 0.3:
        options["byte_fallback"] = "true"
    if rng.random() < (0.35 if "byte_fallback" in options else 0.01):
        options["auto_character_coverage"] = "true"


def _normalization(rng, options, files):
    kind = rng.random()
    if kind < 0.45:
        options["normalization_rule_name"] = rng.choice(RULE_NAMES)
    elif kind < 0.58:
        files["rules.tsv"] = texts.rules(rng)
        options["normalization_rule_tsv"] = "rules.tsv"
    if rng.random() < 0.06:
        files["denormalize.tsv"] = texts.rules(rng)
        options["denormalization_rule_tsv"] = "denormalize.tsv"


def _limits(rng, options):
    if rng.random() < 0.3:
        options["max_sentencepiece_length"] = rng.choice(["1", "2", "3", "5", "8", "32", "512"])
    if rng.random() < 0.15:
        options["max_sentence_length"] = rng.choice(["10", "11", "40", "100", "4191", "100000"])
    if rng.random() < 0.15:
        options["pretokenization_delimiter"] = rng.choice(["|", "||", "a", " ", "\u2581", "\u3042", "<s>", "\u001f"])
    if rng.random() < 0.7:
        options["num_threads"] = str(rng.randint(1, 40))


def _sampling(rng, corpus, options):
    """Sampling that cannot differ: the first sentences, or a sample as large as the corpus."""
    if rng.random() < 0.9:
        return
    options["input_sentence_size"] = str(rng.choice([101, 150, 1000]))
    if corpus.count(b"\n") + 1 > int(options["input_sentence_size"]) or rng.random() < 0.5:
        options["shuffle_input_sentence"] = "false"
    if rng.random() < 0.3:
        options["random_seed"] = str(rng.randrange(2**32))


def _seed_file(rng, corpus):
    """Candidates for pieces: words and parts of words of the corpus, some of them impossible pieces."""
    words = corpus.decode("utf-8", "ignore").replace("\0", "").split() or ["a"]
    lines = []
    for _ in range(rng.choice([0, 3, 30, 300])):
        word = rng.choice(["\u2581", ""]) + rng.choice(words)
        start = rng.randrange(len(word))
        lines.append(f"{word[start : start + rng.randint(1, 8)]}\t{rng.choice([1, 2, 7, 300, 10**9])}")
        if rng.random() < 0.05:
            lines[-1] += "\tmore"
    if lines and rng.random() < 0.05:
        lines.insert(rng.randrange(len(lines)), rng.choice(["no tab", "a\t0", "a\tx", "\t3", ""]))
    return "\n".join(lines).encode() + rng.choice([b"", b"\n"])


def _model_type(rng, corpus, options, files):
    """The flags of one model type, which other types refuse or only record."""
    share = 0.3 if options["model_type"] == "unigram" else 0.04
    for name, values in UNIGRAM.items():
        if rng.random() < share:
            options[name] = rng.choice(values)
    if options["model_type"] == "unigram" and rng.random() < 0.1:
        files["seeds.tsv"] = _seed_file(rng, corpus)
        options["seed_sentencepieces_file"] = "seeds.tsv"
    if options["model_type"] in ("word", "char"):
        if rng.random() < 0.2:
            options["use_all_vocab"] = "true"
        if rng.random() < 0.95:
            options.pop("pretokenization_delimiter", None)
    if options["model_type"] != "bpe" and rng.random() < 0.95:
        options.pop("auto_character_coverage", None)


def _own_names(rng, options):
    for name, choices in {
        "unk_piece": ["[UNK]", "?", "\u2047"], "bos_piece": ["[CLS]", "<bos>", "a"],
        "eos_piece": ["[SEP]", "\u2581"], "pad_piece": ["[PAD]", "<s>", "\u3042"],
    }.items():
        if rng.random() < 0.3:
            options[name] = rng.choice(choices)


def _corpus_files(rng, model_type):
    """The corpus in one or several files, and the flags that name them."""
    if rng.random() < 0.15:
        # Training a unigram model, the reference repeats each text as often as its count says, up to 500 MB.
        highest = 1000 if model_type == "unigram" else 10**12
        return {"corpus.tsv": texts.tsv_corpus(rng, highest)}, {"input": "corpus.tsv", "input_format": "tsv"}
    files = {"corpus.txt": texts.corpus(rng)}
    options = {"input": "corpus.txt"}
    if rng.random() < 0.1:
        files["more,text.txt"] = texts.corpus(rng)
        options["input"] = rng.choice(['corpus.txt,"more,text.txt"', '"more,text.txt",corpus.txt'])
    if rng.random() < 0.1:
        options["input_format"] = "text"
    if rng.random() < 0.01:
        options["input"] = "missing.txt"
    return files, options


def generate(rng, model_type="bpe", invalid_share=INVALID_SHARE):
    """Flags of one training run without `model_prefix`, and the files that the flags name."""
    files, options = _corpus_files(rng, model_type)
    corpus = b"\n".join(files.values())
    options["model_type"] = model_type
    _alphabet(rng, corpus, options, files)
    _normalization(rng, options, files)
    _limits(rng, options)
    _sampling(rng, corpus, options)
    for name in SWITCHES:
        if rng.random() < 0.15:
            options[name] = rng.choice(["true", "false", "1", "0"])
    if rng.random() < 0.25:
        options.update(_ids(rng))
    if rng.random() < 0.1:
        _own_names(rng, options)
    for name in ["control_symbols", "user_defined_symbols"]:
        if rng.random() < 0.18:
            _symbols(rng, name, corpus, options, files)
    for name, values in RECORDED_ONLY.items():
        if rng.random() < 0.04:
            options[name] = rng.choice(values)
    _model_type(rng, corpus, options, files)
    options["vocab_size"] = _vocab_size(rng, corpus, options)
    if rng.random() < 0.8:
        options["hard_vocab_limit"] = "false"
    for name, values in INVALID.items():
        # The reference takes a missing file of seeds as an empty one.
        is_missing_seeds = name == "seed_sentencepieces_file" and model_type == "unigram"
        if rng.random() < invalid_share and not is_missing_seeds:
            options[name] = rng.choice(values)
    return options, files
