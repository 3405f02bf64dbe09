"""Compares a model with its tokenizer.json in transformers, and with the .model that is made of that file.

Job: the comparison of the kind `convert` and of `convert_models.py`.
Input: a model file, texts, both sides, workers of transformers. Output: differences in an `Outcome`.

If the verdict of `spiece convert` is "ids equal for all text", no text may differ. Otherwise each text that differs must be
explained by a reason of the verdict; `EXPLANATIONS` has a condition for each kind of reason.
"""

import functools
import re
import shutil
import subprocess
import unicodedata

from . import wire
from .kinds.base import pack, shown
from .sides import OK, PANIC_STATUS

EXACT = "verdict: ids equal for all text"
MARK = "\u2581"
REASON = re.compile(r"^  ([a-z_]+): (.*)$", re.MULTILINE)
# A rule whose source has several characters, as `spiece normalize --decompile` prints it.
JOINT_RULE = re.compile(r"^([0-9A-F]+(?: [0-9A-F]+)+)\t", re.MULTILINE)
META_KINDS = (wire.UNKNOWN, wire.CONTROL, wire.UNUSED, wire.BYTE)
UNKNOWN_PENALTY = 10.0
# Sums of scores that differ by less, relative to their size, are nearly equal.
RELATIVE_ROUNDING = 1e-5
SECONDS = 600


class Verdict:
    """What `spiece convert` said: `kinds` of reasons, none if the ids are equal for all text; None if it refused."""

    def __init__(self, done):
        self.message = done.stderr.decode("utf-8", "replace")
        self.is_crash = done.returncode < 0 or done.returncode == PANIC_STATUS
        self.is_refused = done.returncode != 0
        self.kinds = [kind for kind, _ in REASON.findall(self.message)]

    def is_exact(self):
        return EXACT in self.message


def convert(program, source, target):
    """Converts, whatever the verdict is."""
    command = [*program.program, "convert", str(source), str(target), "--force"]
    return Verdict(subprocess.run(command, capture_output=True, timeout=SECONDS))


# Most models have the same few lists of rules.
@functools.lru_cache(maxsize=64)
def joint_sources(rules):
    """The sources of several characters in normalization rules as `spiece normalize --decompile` prints them."""
    return ["".join(chr(int(code, 16)) for code in source.split(" ")) for source in JOINT_RULE.findall(rules)]


class ComparedModel:
    """A model file. What only the explanation of a difference needs is read when one is explained."""

    def __init__(self, program, path):
        self.program, self.path = program, path
        self._texts_by_kinds = {}

    @functools.cached_property
    def pieces(self):
        return wire.ModelParts(self.path.read_bytes()).pieces

    def texts_of_pieces(self, kinds):
        """The texts of the pieces of these kinds, as they are and with spaces for marks."""
        made = self._texts_by_kinds
        if kinds not in made:
            texts = [piece.text.decode("utf-8", "replace") for piece in self.pieces if piece.kind in kinds]
            # tokenizers finds a piece that rules change by its normalized text.
            texts += [unicodedata.normalize("NFKC", text) for text in texts]
            made[kinds] = [(text, text.replace(MARK, " ").strip(" ")) for text in texts]
        return made[kinds]

    @functools.cached_property
    def joint_rules(self):
        """The texts of several characters that its normalization rules replace."""
        command = [*self.program.program, "normalize", "--decompile", f"--model={self.path}"]
        return joint_sources(subprocess.run(command, capture_output=True, timeout=SECONDS).stdout.decode("ascii", "ignore"))


class Difference:
    """A text with its ids in SentencePiece and elsewhere."""

    def __init__(self, model, text, has_clusters, ids, other):
        self.model, self.text, self.has_clusters, self.ids, self.other = model, text, has_clusters, ids, other

    def spells(self, kinds):
        """Whether the text spells a piece of one of these kinds, with marks or with spaces, as it is or normalized."""
        forms = [self.text, unicodedata.normalize("NFKC", self.text)]
        forms += [form.replace(MARK, " ") for form in forms]
        pieces = self.model.texts_of_pieces(kinds)
        return any(text in form or plain in form for text, plain in pieces for form in forms)

    def score(self, ids):
        """The sum of the scores; None if there is an unknown id, which stands for any number of characters."""
        pieces = self.model.pieces
        if any(pieces[number].kind not in (wire.NORMAL, wire.USER_DEFINED) for number in ids):
            return None
        bonus = lambda piece: 0.1 * (len(piece.text) - 1)  # noqa: E731
        return sum(bonus(piece) if piece.kind == wire.USER_DEFINED else piece.score for piece in (pieces[number] for number in ids))

    def has_composition(self):
        """Whether neighbouring characters are normalized together: as Unicode does, or by a rule of the model."""
        normalized = unicodedata.normalize("NFKC", self.text)
        if normalized != "".join(unicodedata.normalize("NFKC", character) for character in self.text):
            return True
        return any(source in self.text for source in self.model.joint_rules)

    def is_removed(self):
        """Whether nothing is left of a text elsewhere, where SentencePiece still has the dummy prefix."""
        return not self.other and len(self.ids) == 1

    def is_close(self):
        first, second = self.score(self.ids), self.score(self.other)
        if first is None or second is None:
            return True
        return abs(first - second) <= RELATIVE_ROUNDING * max(1.0, abs(first), abs(second))


# Kind of reason -> whether it explains a difference.
EXPLANATIONS = {
    "normalization_rules": lambda found: found.has_clusters or found.has_composition() or found.is_removed(),
    "whitespace": lambda found: True,
    "score_tie": lambda found: True,
    "merge_order": lambda found: True,
    "uncovered_character": lambda found: True,
    "unused_piece": lambda found: True,
    "user_defined_symbol": lambda found: found.spells((wire.USER_DEFINED,)),
    "meta_piece": lambda found: found.spells(META_KINDS),
    "unknown_character": lambda found: any(found.model.pieces[number].kind == wire.UNKNOWN for number in found.ids),
    "piece_text": lambda found: True,
    "rounding": lambda found: found.is_close(),
}


def texts_of(lines):
    """The lines that are UTF-8, as texts."""
    result = []
    for line in lines:
        try:
            result.append(line.decode("utf-8"))
        except UnicodeDecodeError:
            pass
    return result


def compare_conversion(outcome, model, texts, sides, workers, folder):
    """Compares `model` with transformers and with the model made of its tokenizer.json. `workers` by version.

    Returns what was found, for a report.
    """
    hub, back = folder / "hub", folder / "back.model"
    verdict = convert(sides.spiece, model, f"{hub}/")
    outcome.compared += 1
    if verdict.is_crash:
        outcome.add("spiece crashed", verdict.message)
        return []
    expected = sides.reference.call("encode_each", model=str(model), texts=[pack(text.encode()) for text in texts], time_limit=SECONDS)
    if verdict.is_refused:
        return [f"refused: {verdict.message.strip()}"]
    if expected.status != OK:
        outcome.note = f"the reference {expected.status}"
        return []
    outcome.accepted = True
    summary = ["exact" if verdict.is_exact() else f"reasons: {', '.join(verdict.kinds)}"]
    compared = ComparedModel(sides.spiece, model)
    given = None
    for version, worker in workers.items():
        reply = worker.call("encode", time_limit=SECONDS, folder=str(hub), texts=texts)
        if reply.status != OK:
            outcome.add(f"transformers {version}", f"{reply.status}: {reply.message}")
            continue
        given = reply.value
        results = [(text, clusters, ids, other) for text, ids, (other, clusters) in zip(texts, expected.value, given)]
        summary.append(compare_ids(outcome, f"transformers {version}", verdict, compared, results))
    if given is not None:
        summary.append(compare_back(outcome, verdict, hub / "tokenizer.json", back, sides, (texts, expected.value, given)))
    return summary


def compare_back(outcome, verdict, file, back, sides, results):
    """The .model of the tokenizer.json has the ids of the original, and those of transformers if its verdict says so."""
    texts, original, given = results
    summary, ids_of_back = compare_file(outcome, "back", file, back, sides, (texts, given))
    if ids_of_back is not None and verdict.is_exact():
        outcome.compared += len(texts)
        wrong = [(text, ids, other) for text, ids, other in zip(texts, original, ids_of_back) if ids != other]
        if wrong:
            text, ids, other = wrong[0]
            outcome.add("back", f"{len(wrong)} texts, first {shown(text.encode())}\n    original: {ids[:20]}\n    back:     {other[:20]}")
    return summary


def compare_saved(outcome, model, texts, sides, workers, folder):
    """Compares the files that transformers itself makes of `model` with the .model that spiece makes of them.

    Returns what was found, for a report, and how many files were made. What transformers cannot make is no difference.
    """
    summary = []
    made = 0
    for version, worker in workers.items():
        source, saved, back = folder / f"source-{version}", folder / f"saved-{version}", folder / f"saved-{version}.model"
        source.mkdir()
        shutil.copy(model, source / "tokenizer.model")
        reply = worker.call("encode", time_limit=SECONDS, folder=str(source), saved=str(saved), texts=texts)
        if reply.status != OK:
            summary.append(f"saved by {version}: transformers: {reply.status} {reply.message}")
            continue
        outcome.accepted = True
        made += 1
        found, _ = compare_file(outcome, f"saved by {version}", saved / "tokenizer.json", back, sides, (texts, reply.value))
        summary.append(found)
    return summary, made


def compare_file(outcome, category, file, back, sides, results):
    """The .model of a tokenizer.json has the ids that transformers gives for the file, or the verdict explains it.

    Returns what was found, for a report, and the ids of the .model; `None` if it was refused or not loaded.
    """
    texts, given = results
    verdict = convert(sides.spiece, file, back)
    outcome.compared += 1
    if verdict.is_crash:
        outcome.add("spiece crashed", verdict.message)
    if verdict.is_refused:
        return f"{category}: refused ({verdict.message.strip()})", None
    reply = sides.reference.call("encode_each", model=str(back), texts=[pack(text.encode()) for text in texts], time_limit=SECONDS)
    if reply.status != OK:
        outcome.add(category, f"the reference {reply.status} ({reply.message})")
        return f"{category}: not loaded", None
    compared = ComparedModel(sides.spiece, back)
    results = [(text, clusters, ids, other) for text, ids, (other, clusters) in zip(texts, reply.value, given)]
    summary = compare_ids(outcome, category, verdict, compared, results)
    return f"{summary} ({'exact' if verdict.is_exact() else ', '.join(verdict.kinds)})", reply.value


def compare_ids(outcome, category, verdict, compared, results):
    """Texts whose ids differ must be explained by the verdict. Returns how many differ."""
    outcome.compared += len(results)
    differing = [Difference(compared, *result) for result in results if result[2] != result[3]]
    unexplained = [found for found in differing if not any(EXPLANATIONS[kind](found) for kind in verdict.kinds)]
    if unexplained:
        found = unexplained[0]
        said = "equal for all text" if verdict.is_exact() else ", ".join(verdict.kinds)
        outcome.add(
            category,
            f"{len(unexplained)} texts are not explained by the verdict ({said}), first {shown(found.text.encode())}\n"
            f"    SentencePiece: {found.ids[:20]}\n    other:         {found.other[:20]}",
        )
    return f"{category}: {len(differing)} of {len(results)} texts differ"
