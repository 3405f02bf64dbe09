#!/usr/bin/env bash
# Tests that training of unigram models on hostile corpora stays within the bounds of memory and time that
# docs/SECURITY.md states.
#
# Each case is a corpus that is bad for one stage: runs of one character, random letters without spaces, many
# distinct words, pieces of 512 characters. The program runs under a limit of address space (`ulimit -v`) and of
# time, and has to write a model. A case needs at most ten seconds of processor time; the limit of 60 seconds is
# for slow machines, and finds what is not linear.
#
# Usage: tests/hostile_training.sh [PROGRAM]; without PROGRAM it is built. The last line is "N passed, M failed"; the
# exit status is 0 if M is 0. Requires Linux, bash, coreutils and python3. Takes about half a minute.
set -uo pipefail
cd "$(dirname "$0")/.."
spiece=${1:-}
if [ -z "$spiece" ]; then
  cargo build --release || exit 1
  spiece=${CARGO_TARGET_DIR:-target}/release/spiece
fi
spiece=$(realpath "$spiece")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

passed=0 failed=0
# corpus PYTHON: writes what the expression gives, a text or its lines, to $work/text.
corpus() {
  python3 - "$1" >"$work/text" <<'PYTHON'
import random
import sys

draw = random.Random(1)
letters = "abcdefghijklmnopqrstuvwxyz"


def at_random(alphabet, count):
    return "".join(draw.choices(alphabet, k=count))


def lines(text, length):
    return (text[start : start + length] for start in range(0, len(text), length))


made = eval(sys.argv[1])
sys.stdout.reconfigure(encoding="utf-8")
sys.stdout.write(made if isinstance(made, str) else "\n".join(made))
PYTHON
}
# trains WHAT MEGABYTES SECONDS FLAGS...: passes if a model is written within these limits.
trains() {
  local what=$1 megabytes=$2 seconds=$3 status
  shift 3
  rm -f "$work"/m.*
  (
    ulimit -v $((megabytes * 1024))
    exec timeout -s KILL "$seconds" "$spiece" train --quiet --model_type=unigram --input="$work/text" --model_prefix="$work/m" \
      --hard_vocab_limit=false --jobs=2 "$@"
  )
  status=$?
  if [ $status -eq 0 ] && [ -s "$work/m.model" ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED: %s: exit status %s within %s MB and %s s\n' "$what" "$status" "$megabytes" "$seconds"
  fi
}

corpus '"a" * 20_000_000'
trains "a line of 20 MB, which is skipped, and short lines" 300 30 --input="$work/text,testdata/few_words.txt"
corpus '"a" * 1_000_000'
trains "one line of 1 MB of one character" 1200 60 --max_sentence_length=30000000
corpus '("a" * (1 + 1009 * n % 4000) for n in range(1000))'
trains "2 MB of runs of one character" 600 60
corpus '("a" * (1 + 7 * n % 1000) for n in range(200))'
trains "runs of one character and pieces of 512" 600 60 --max_sentencepiece_length=512
corpus 'lines(at_random(letters, 1_000_000), 4000)'
trains "1 MB of random letters without spaces" 600 60
corpus 'lines(at_random([chr(code) for code in range(0x4E00, 0x5E00)], 1_000_000), 1000)'
trains "a million random Chinese characters" 600 60
corpus 'lines(" ".join(at_random(letters, 5) for _ in range(300_000)), 4000)'
trains "300,000 short words" 600 60
corpus '(f"{at_random(letters, 7)}\t{draw.randrange(1, 2**40)}" for _ in range(100_000))'
trains "counts of 2^40, a chunk of seeds for each line" 600 60 --input_format=tsv
corpus '"ab" * 100_000'
trains "two characters in turn, whole lines as units" 600 60 --max_sentence_length=30000000 --split_by_whitespace=false

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
