#!/usr/bin/env python3
"""Write what SentencePiece 0.2.1, the last release with these calls, gives for entropies and scored samples.

    pip install sentencepiece==0.2.1
    python3 testdata/make_scored_golden.py     # from the repository root, after make_run_golden.py

`run/entropy.tsv` has a row for each text: model, text, alpha, entropy (a float32 in hexadecimal bits). `run/scored.tsv` has
a row for each of the most frequent samples with replacement: model, text, alpha, score (bits as above), ids. The texts have
no user-defined symbols, which have other scores since 0.2.2.
"""

import hashlib
import struct
from pathlib import Path

import sentencepiece as spm

RUN = Path(__file__).resolve().parent / "run"
MODELS = ["unigram", "unigram_bytes", "unigram_coarse", "unigram_rules", "unigram_suffix", "unigram_unused"]
TEXTS = ["les droits", "une personne a droit", "bcbc aux", "人人 x", "le", "Toute personne, en tant que membre, a droit"]
ALPHAS = ["0", "0.1", "0.5", "1", "3"]


def bits(value):
    """The bits of a float32."""
    return struct.pack(">f", value).hex()


def main():
    """Writes the two tables and the list of checksums."""
    entropy, scored = [], []
    for name in MODELS:
        sp = spm.SentencePieceProcessor(model_file=str(RUN / f"{name}.model"))
        for text in TEXTS:
            for alpha in ALPHAS:
                entropy.append([f"run/{name}", text, alpha, bits(sp.calculate_entropy(text, float(alpha)))])
            samples = sp.sample_encode_and_score_as_ids(text, 2000, 0.5)
            counts = {}
            for ids, score in samples:
                key = (tuple(ids), bits(score))
                counts[key] = counts.get(key, 0) + 1
            frequent = sorted((-count, key) for key, count in counts.items() if count >= 100)
            scored += [[f"run/{name}", text, "0.5", score, " ".join(map(str, ids))] for _, (ids, score) in frequent]
    for table, rows in {"entropy.tsv": entropy, "scored.tsv": scored}.items():
        (RUN / table).write_text("".join("\t".join(row) + "\n" for row in rows), "utf-8", newline="\n")
    files = sorted(path for path in RUN.rglob("*") if path.is_file() and path.name != "SHA256SUMS")
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(RUN)}\n" for path in files]
    (RUN / "SHA256SUMS").write_text("".join(sums))


if __name__ == "__main__":
    main()
