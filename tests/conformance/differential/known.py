"""Differences that are known and not yet removed: at present none.

Job: keep a run useful as a gate while a known difference exists.
Input: a case and a difference. Output: the name of the known difference that explains it, or None.

Each entry of CONDITIONS is as narrow as possible. Known differences are counted and printed, but do not fail a run;
with --strict they do. Remove an entry when the program is changed.
"""

# Name of a known difference -> condition(case, difference), for example
#   "ids: a lone U+0000 is dropped": lambda case, difference: difference.category == "ids" and difference.line == b"\0"
CONDITIONS = {}


def explain(case, difference):
    """The known difference that this one is an instance of."""
    if difference.known:
        return difference.known
    for name, condition in CONDITIONS.items():
        if condition(case, difference):
            return name
    return None
