"""The algorithm of BpeTrainer of tokenizers 0.23.3, with the order of its hash tables as an input.

Job: say what BpeTrainer makes of words if the characters of its alphabet and their forms with affixes have a given order.
Input: words with counts, options, the kept characters, the forms in the order of their ids.
Output: the tokens in the order of their ids, and the merges.

Its result varies between runs where two characters are equally frequent at the limit of the alphabet, and where characters have
affixes. Given what a run decided there, the rest is determined: so a result that varies is checked all the same. If a text
contains an affix, a pair can occur again after it was merged, and wait twice with one count; `ties` then decides.
"""

import heapq
from collections import Counter


def counts_of_characters(words, initial):
    counts = Counter()
    for word, count in words.items():
        for char in word:
            counts[char] += count
    counts.update({char: float("inf") for char in initial})
    return counts


def may_be_kept(kept, counts, limit):
    """Whether the limit of an alphabet can leave these characters."""
    dropped = [count for char, count in counts.items() if char not in kept]
    expected = len(counts) if limit is None else min(limit, len(counts))
    lowest = min((counts[char] for char in kept), default=float("inf"))
    return set(kept) <= set(counts) and len(kept) == expected and all(count <= lowest for count in dropped)


def kept_of_spiece(counts, limit):
    """Of equally frequent characters, those with the smallest code points."""
    ranked = sorted(counts, key=lambda char: (-counts[char], char))
    return set(ranked[: len(ranked) if limit is None else limit])


def spelled(word, known, prefix, suffix):
    """The texts of the symbols of a word."""
    for at, char in enumerate(word):
        if char in known:
            yield (prefix if at else "") + char + (suffix if at == len(word) - 1 else "")


def forms(words, known, prefix, suffix):
    """The characters with affixes, in the order in which these words have them."""
    found = {}
    for word in words:
        found.update(dict.fromkeys(spelled(word, known, prefix, suffix)))
    return found


def train(words, options, kept, forms_in_order, ties=None):
    """`ties` are random numbers; without them, of equal pairs the one in the first of the sorted words is merged first."""
    words = dict(sorted(words.items()))
    prefix, suffix = options["prefix"] or "", options["suffix"] or ""
    longest = options["max_length"] or float("inf")
    tokens = list(dict.fromkeys([*options["special"], *sorted(kept), *forms_in_order]))
    ids = {token: id for id, token in enumerate(tokens)}
    known = {token for token in ids if len(token) == 1}
    parts = [[[ids[text], 1] for text in spelled(word, known, prefix, suffix)] for word in words]
    times = list(words.values())
    counts, changed = Counter(), {}
    for number, part in enumerate(parts):
        for (left, _), (right, _) in zip(part, part[1:]):
            counts[left, right] += times[number]
            changed.setdefault((left, right), set()).add(number)
    queue, merges = [], []
    while True:
        for pair, numbers in changed.items():
            if counts[pair] > 0:
                heapq.heappush(queue, (-counts[pair], pair, ties and ties.random(), sorted(numbers)))
        changed = {}
        if len(ids) >= options["size"] or not queue:
            break
        count, pair, tie, numbers = heapq.heappop(queue)
        # A negative count is a large number there.
        now = counts[pair] if counts[pair] >= 0 else 2**64 + counts[pair]
        if -count != now:
            heapq.heappush(queue, (-now, pair, tie, numbers))
            continue
        if now < 1 or options["min_frequency"] > now:
            break
        left, right = (tokens[id] for id in pair)
        joined = left + (right[len(prefix) :] if prefix and right.startswith(prefix) else right)
        if joined not in ids:
            ids[joined] = len(tokens)
            tokens.append(joined)
        merges.append((left, right))
        merged = ids[joined]
        for number in numbers:
            part, at = parts[number], 0

            def change(pair, by, number=number):
                counts[pair] += by * times[number]
                if by > 0:
                    changed.setdefault(pair, set()).add(number)

            while at + 1 < len(part):
                if (part[at][0], part[at + 1][0]) == pair:
                    length = part[at][1] + part[at + 1][1]
                    part[at : at + 2] = [[merged, length]]
                    if at > 0:
                        change((part[at - 1][0], pair[0]), -1)
                        if part[at - 1][1] + length < longest:
                            change((part[at - 1][0], merged), 1)
                    if at + 1 < len(part):
                        change((pair[1], part[at + 1][0]), -1)
                        if part[at + 1][1] + length < longest:
                            change((merged, part[at + 1][0]), 1)
                at += 1
    # Of a pair that was merged twice, the last place counts.
    return tokens, list(dict.fromkeys(reversed(merges)))[::-1]
