"""The flags of `spm_train` and their translation to a call of the reference's library.

Job: make the library write the bytes that the program would write.
Input: flags as given on the command line. Output: the arguments of the library's trainer.

A .model file records which fields of its specs were set. The program `spm_train` sets every field from its
flags, given or not; the library sets the given ones only. The wheel has no programs, so every flag is passed to
the library with the program's default. Differences between the two that this module reproduces:

- `control_symbols` and `user_defined_symbols`: the program leaves the fields alone if the flag is empty, and
  appends the lines of the `_file` flag to the flag's list. The library takes one list.
- `required_chars_file`: the lines, joined, replace `required_chars`.
- `denormalization_rule_tsv`: sets four fields of the denormalizer's spec, if not empty.
- `model_type`: the program's default is unigram, that of `spiece train` is bpe; it is always passed.
- `random_seed` and the retired flags are not recorded, so they are not passed.

The defaults below are those of `spm_train_main.cc` and `sentencepiece_model.proto`, release 0.2.3.
"""

from pathlib import Path

# Every flag that ends up in a spec whether given or not.
DEFAULTS = {
    "input_format": "", "vocab_size": "8000", "character_coverage": "0.9995", "input_sentence_size": "0",
    "shuffle_input_sentence": "true", "seed_sentencepiece_size": "1000000", "seed_sentencepieces_file": "",
    "shrinking_factor": "0.75", "num_threads": "16", "num_sub_iterations": "2", "max_sentencepiece_length": "16",
    "max_sentence_length": "4192", "split_by_unicode_script": "true", "split_by_whitespace": "true",
    "split_by_number": "true", "split_digits": "false", "pretokenization_delimiter": "", "byte_fallback": "false",
    "auto_character_coverage": "false", "treat_whitespace_as_suffix": "false",
    "allow_whitespace_only_pieces": "false", "hard_vocab_limit": "true", "use_all_vocab": "false", "unk_id": "0",
    "bos_id": "1", "eos_id": "2", "pad_id": "-1", "unk_piece": "<unk>", "bos_piece": "<s>", "eos_piece": "</s>",
    "pad_piece": "<pad>", "unk_surface": " \u2047 ", "required_chars": "", "vocabulary_output_piece_score": "true",
    "normalization_rule_name": "nmt_nfkc", "normalization_rule_tsv": "", "add_dummy_prefix": "true",
    "remove_extra_whitespaces": "true", "model_type": "bpe",
}

# Flags that are passed on only if they have a value.
WHEN_GIVEN = ("input", "model_prefix", "control_symbols", "user_defined_symbols", "denormalization_rule_tsv")

# Flags that the program accepts and does not record.
NOT_RECORDED = (
    "random_seed", "accept_language", "self_test_sample_size", "mining_sentence_size", "training_sentence_size",
    "train_extremely_large_corpus", "enable_differential_privacy", "differential_privacy_noise_level",
    "differential_privacy_clipping_threshold",
)


def quote(text):
    """`text` as one item of a comma-separated list."""
    return '"' + text.replace('"', '""') + '"'


def _lines(folder, name):
    data = (Path(folder) / name).read_bytes().decode()
    return data[:-1].split("\n") if data.endswith("\n") else data.split("\n") if data else []


def _joined_list(options, name, folder):
    """The flag's list followed by the lines of the `_file` flag."""
    items = [options[name]] if options.get(name) else []
    path = options.get(f"{name}_file")
    if path:
        items += [quote(line) for line in _lines(folder, path)]
    return ",".join(items)


def library_arguments(options, folder):
    """The library's arguments for these flags of the program; file names are relative to `folder`."""
    arguments = dict(DEFAULTS)
    for name in arguments:
        if name in options:
            arguments[name] = options[name]
    if options.get("required_chars_file"):
        arguments["required_chars"] = "".join(_lines(folder, options["required_chars_file"]))
    for name in WHEN_GIVEN:
        value = options.get(name, "")
        if name in ("control_symbols", "user_defined_symbols"):
            value = _joined_list(options, name, folder)
        if value:
            arguments[name] = value
    return arguments


def command_line(options):
    """The options as flags of `spiece train`."""
    return [f"--{name}={value}" for name, value in options.items()]
