"""Arguments of training in the forms that the reference's package takes."""

from .. import _native, _training


def flags_of_string(arguments):
    """The flags of a text such as ``--input=a.txt --vocab_size=100``; of two values for one name the first counts."""
    flags = {}
    for word in arguments.split(" ") if arguments else ():
        name, _, value = word.removeprefix("--").partition("=")
        flags.setdefault(name, value)
    return flags


#: Flags that the reference knows and that change nothing here.
_IGNORED = ("minloglevel", "logtostderr")

#: Flags that a given normalizer replaces.
_NORMALIZER_FLAGS = (
    "normalization_rule_name",
    "normalization_rule_tsv",
    "add_dummy_prefix",
    "escape_whitespaces",
    "remove_extra_whitespaces",
    "name",
    "precompiled_charsmap",
)


def train(flags, log=None, **request):
    """Trains with flags by name: the bytes of the model."""
    flags = {name: value for name, value in flags.items() if name not in _IGNORED}
    if request.get("normalizer") is not None:
        for name in _NORMALIZER_FLAGS:
            if name in flags:
                raise ValueError(f"INVALID_ARGUMENT: normalizer and {name} exclude each other; use one of them")
    if flags.pop("escape_whitespaces", "1").lower() in ("0", "false", "f", "n", "no"):
        raise RuntimeError("INTERNAL: escape_whitespaces=false: models are trained on text with marks for spaces")
    request = _training.request(flags, progress=log and _log_event(log), for_schema=True, **request)
    model, summary = _native._train(request)
    if log:
        log.write(f"spiece: trained {summary['pieces']} pieces from {summary['sentences']} sentences\n")
    return model


def _log_event(log):
    def write(event):
        if event["event"] == "started":
            log.write(f"spiece: {event['stage']}\n")

    return write


def train_from_string(arguments, log=None):
    """Trains with the flags of a command line, and writes the model."""
    flags = flags_of_string(arguments)
    write_model(train(flags, log), flags.get("model_prefix", ""))
    return True


def train_from_keywords(keywords, log=None):
    """Trains with keyword arguments, and writes the model to ``model_prefix`` or ``model_writer``."""
    request = {}
    flags = {}
    writer = None
    for name, value in keywords.items():
        if name in ("sentence_iterator", "sentence_reader"):
            request["sentences"] = value
        elif name == "pretokenizer":
            request["pretokenizer"] = value
        elif name == "allow_inconsistent_pretokenization":
            request["allow_inconsistent_pretokenization"] = bool(value)
        elif name == "normalizer":
            request["normalizer"] = value.serialized_normalizer_spec() if value else None
        elif name == "model_writer":
            writer = value
        else:
            flags[name] = _training.flag_text(value)
    prefix = flags.get("model_prefix", "")
    if (writer is None) == (not prefix):
        raise RuntimeError(
            "INTERNAL: one of model_prefix and model_writer is needed: where is the model to be written?"
        )
    if not flags.get("input") and request.get("sentences") is None:
        raise RuntimeError("INTERNAL: no text to train on; pass input='corpus.txt' or sentence_iterator=iter(sentences)")
    model = train(flags, log, **request)
    if writer is None:
        write_model(model, prefix)
    else:
        writer.write(model)


def write_model(model, prefix):
    """Writes PREFIX.model and PREFIX.vocab."""
    if not prefix:
        raise RuntimeError("INTERNAL: model_prefix is missing; it names the files PREFIX.model and PREFIX.vocab")
    _native._save_with_vocab(model, prefix)
