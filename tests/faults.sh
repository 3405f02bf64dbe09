#!/usr/bin/env bash
# Tests that faults leave output files complete: kill -9 at any time, full disks, missing permissions, links, folders
# and pipes as targets, closed pipes, concurrent runs, inputs that change while they are read.
#
# After each fault, every file has to be the former one or the new one, byte for byte, and a new .model has the new .vocab
# beside it. Only a kill may leave a temporary file. See the module page of src/output.rs.
#
# Usage: tests/faults.sh [PROGRAM [SEED]]; without PROGRAM it is built. The last line is "N passed, M failed"; the exit
# status is 0 if M is 0. Requires bash, coreutils and awk; sections that require root, namespaces or strace print
# "skipped" where these are not available.
set -uo pipefail
cd "$(dirname "$0")/.."
testdata=$PWD/testdata
spiece=${1:-}
seed=${2:-5}
if [ -z "$spiece" ]; then
  cargo build --release || exit 1
  spiece=${CARGO_TARGET_DIR:-target}/release/spiece
fi

work=$(mktemp -d)
clean_up() { chmod -R u+w "$work" && rm -rf "$work"; }
trap clean_up EXIT
chmod 755 "$work"
cp "$spiece" "$work/spiece"
spiece=$work/spiece
# An unprivileged user may not reach the repository.
cp "$testdata"/{udhr_small,few_words,udhr}.txt "$testdata"/run/unigram.model "$work"
chmod a+r "$work"/*

passed=0 failed=0
pass() { passed=$((passed + 1)); }
fail() {
  failed=$((failed + 1))
  printf 'FAILED: %s\n' "$*"
  [ -s "$work/stderr" ] && sed 's/^/    stderr: /' "$work/stderr" | head -5
  : >"$work/stderr"
}
skip() { printf 'skipped: %s\n' "$*"; }
# Prints the count of the previous section and starts the section with this name.
section() {
  [ -n "${current:-}" ] && printf '   %s passed\n' $((passed - passed_before))
  passed_before=$passed current=$1
  [ -z "$1" ] || printf -- '-- %s\n' "$1"
}
# check WHAT COMMAND...: passes if the command succeeds.
check() {
  local what=$1
  shift
  if "$@"; then pass; else fail "$what"; fi
}

# --- models that the faults may damage ----------------------------------------------------------------------------

"$spiece" train --input="$work/udhr_small.txt" --model_type=bpe --model_prefix="$work/bpe" --vocab_size=600 \
  --character_coverage=0.98 --quiet || exit 1

# The model records its prefix and input, so runs whose results are compared use the same names.
flags=(--input="$work/udhr_small.txt" --model_prefix=m --character_coverage=0.98 --quiet)
train_old() { "$spiece" train "${flags[@]}" --vocab_size=400 "$@"; }
train_new() { "$spiece" train "${flags[@]}" --vocab_size=600 "$@"; }
mkdir "$work/old" "$work/new" "$work/here"
(cd "$work/old" && train_old) || exit 1
(cd "$work/new" && train_new) || exit 1
cd "$work/here" || exit 1
restore() { rm -rf "$work"/here/* "$work"/here/.m.* && cp "$work"/old/m.* .; }

# The state of the two files: old, new, between (the new .vocab and the old .model), or broken.
state() {
  local state='' name
  for name in m.model m.vocab; do
    if cmp -s $name "$work/old/$name"; then state+=old-
    elif cmp -s $name "$work/new/$name"; then state+=new-
    else state+=broken-; fi
  done
  case $state in old-old-) echo old ;; new-new-) echo new ;; old-new-) echo between ;; *) echo broken ;; esac
}
is_state() { [ "$(state)" = "$1" ]; }
strays() { find "${1:-.}" -name '.*spiece*' | wc -l; }
no_strays() { [ "$(strays "$@")" -eq 0 ]; }
# What a kill may leave.
remove_strays() { find . -name '.*spiece*' -delete; }
# each_is_whole OLD NEW NAME...: passes if each file is the one in OLD or the one in NEW.
each_is_whole() {
  local old=$1 new=$2 name
  shift 2
  for name; do cmp -s "$name" "$old/$name" || cmp -s "$name" "$new/$name" || return 1; done
}

# After a kill: both files are whole, and a new .model has the new .vocab beside it.
check_after_kill() {
  local state
  state=$(state)
  [ "$(strays)" -gt 0 ] && with_strays=$((with_strays + 1))
  case $state in
    old) stayed=$((stayed + 1)) ;;
    new) finished=$((finished + 1)) ;;
    between) between=$((between + 1)) ;;
  esac
  check "$1: the files are $state" [ "$state" != broken ]
  remove_strays
  restore
}
report_kills() {
  printf '   the old files stayed: %s; a new .vocab and the old .model: %s; both new: %s; temporary files left: %s\n' \
    $stayed $between $finished $with_strays
}

section "kill -9 at 50 moments"
restore
now() { date +%s%N; }
length=0
for _ in 1 2 3; do
  start=$(now)
  train_new
  elapsed=$((($(now) - start) / 1000))
  [ $elapsed -gt $length ] && length=$elapsed
done
restore
stayed=0 finished=0 between=0 with_strays=0
# 25 times within the whole run and 25 near its end, when files are written; in seconds.
moments=$(awk -v seed="$seed" -v length_us=$length 'BEGIN {
  srand(seed)
  for (i = 0; i < 50; i++) printf "%.6f\n", (i % 2 ? rand() * 1.05 : 0.6 + rand() * 0.45) * length_us / 1e6
}')
for moment in $moments; do
  # Not in a function: the signal has to reach the program and not a subshell.
  "$spiece" train "${flags[@]}" --vocab_size=600 2>/dev/null &
  child=$!
  sleep "$moment"
  kill -9 $child 2>/dev/null
  wait $child 2>/dev/null
  check_after_kill "killed after $moment s of $((length / 1000)) ms"
done
report_kills

section "kill -9 at each call to the system that touches a file"
if strace -o /dev/null true 2>/dev/null; then
  stayed=0 finished=0 between=0 with_strays=0
  for call in fchmod fsync rename; do
    for nth in $(seq 1 20); do
      strace -f -qq -o /dev/null -e trace="/^$call" -e inject="/^$call:signal=SIGKILL:when=$nth" \
        "$spiece" train "${flags[@]}" --vocab_size=600 2>/dev/null &
      # The run succeeds if it makes fewer such calls; then there is nothing more to interrupt.
      if wait $! 2>/dev/null; then restore; break; fi
      check_after_kill "killed at $call $nth"
    done
  done
  report_kills
  check "no run was killed between its two renames" [ $between -gt 0 ]
  check "no run was killed before it changed anything" [ $stayed -gt 0 ]
else
  skip "strace is not there or may not trace"
fi

section "a run that is killed while it encodes into a file"
echo old >out
(cat "$work/udhr.txt"; sleep 5) | "$spiece" encode --model="$work/unigram.model" --output=out 2>/dev/null &
for _ in $(seq 100); do [ "$(strays)" -gt 0 ] && break; sleep 0.02; done
check "encode has no temporary file" [ "$(strays)" -gt 0 ]
echo text | "$spiece" encode --model="$work/unigram.model" --output=other
check "a run on another target removes the temporary file of a living one" [ "$(strays)" -eq 1 ]
kill -9 $! 2>/dev/null
wait $! 2>/dev/null
check "out changed" [ "$(cat out)" = old ]
remove_strays
echo text | "$spiece" encode --model="$work/unigram.model" --output=out
check "a stray file of encode" no_strays
check "out did not change" [ "$(cat out)" != old ]

section "a run that is killed while it inspects into a file"
for verb in "inspect $work/unigram.model" "compare $work/unigram.model $work/unigram.model"; do
  echo old >out
  # shellcheck disable=SC2086
  (cat "$work/udhr.txt"; sleep 5) | "$spiece" $verb --text=- --output=out 2>/dev/null &
  for _ in $(seq 100); do [ "$(strays)" -gt 0 ] && break; sleep 0.02; done
  check "$verb has no temporary file" [ "$(strays)" -gt 0 ]
  kill -9 $! 2>/dev/null
  wait $! 2>/dev/null
  check "$verb: out changed" [ "$(cat out)" = old ]
  remove_strays
  # shellcheck disable=SC2086
  echo text | "$spiece" $verb --text=- --output=out
  check "a stray file of $verb" no_strays
  check "$verb: out did not change" [ "$(cat out)" != old ]
done

section "two runs, one prefix"
small() {
  "$spiece" train --input="$work/few_words.txt" --model_prefix=m --normalization_rule_name=identity --quiet \
    --hard_vocab_limit=false --vocab_size="$1"
}
mkdir "$work/pairs"
sizes="40 45 50 55"
for size in $sizes; do
  mkdir "$work/pairs/$size"
  (cd "$work/pairs/$size" && small "$size") || fail "a model of $size pieces is not made"
done
is_one_of() { # is_one_of NAME: passes if the file is that of one of the runs.
  local size
  for size in $sizes; do cmp -s "$1" "$work/pairs/$size/$1" && return; done
  return 1
}
restore
for round in $(seq 40); do
  children=()
  for size in $sizes; do
    small "$size" 2>"$work/stderr" &
    children+=($!)
  done
  for child in "${children[@]}"; do check "round $round: one of the runs fails" wait "$child"; done
  for name in m.model m.vocab; do check "round $round: $name is of no run" is_one_of $name; done
  check "round $round: a stray file" no_strays
done
restore

# --- targets that do not work --------------------------------------------------------------------------------------

# refused WHAT MESSAGE COMMAND...: passes if the command fails with this message and the files are unchanged.
refused() {
  local what=$1 message=$2 status
  shift 2
  "$@" >/dev/null 2>"$work/stderr"
  status=$?
  if [ $status -ne 1 ] && [ $status -ne 2 ]; then fail "$what: exit status $status"; return; fi
  if ! grep -q "$message" "$work/stderr"; then fail "$what: no message about $message"; return; fi
  if ! is_state old; then fail "$what: the files are $(state)"; return; fi
  if ! no_strays; then fail "$what: a stray file"; return; fi
  pass
}
# quiet WHAT STATUS: passes if STATUS, of the last command, is 0 and its standard error is empty.
quiet() {
  if [ "$2" -ne 0 ]; then fail "$1: exit status $2"; return; fi
  if [ -s "$work/stderr" ]; then fail "$1: standard error is not empty"; return; fi
  pass
}

# Whether the program was built with tables of word counts (feature parquet).
has_tables() { "$spiece" count --quiet --input="$work/few_words.txt" --output="$work/few.parquet" 2>/dev/null; }

section "a full disk"
# In a mount namespace of its own; $1 is the folder to mount on.
full_disk() {
  mount -t tmpfs -o size=1m none "$1" && cd "$1" && cp "$work"/old/m.* . || exit 77
  dd if=/dev/zero of=filler bs=4k 2>/dev/null
  refused "a full disk" "No space left.*free disk space" train_new
  echo old >out 2>/dev/null || rm filler
  [ -e filler ] || { echo old >out; dd if=/dev/zero of=filler bs=4k 2>/dev/null; }
  refused "a full disk, encode" "No space left" "$spiece" encode --model="$work/unigram.model" --output=out \
    "$work/udhr.txt"
  refused "a full disk, inspect" "No space left" "$spiece" inspect "$work/unigram.model" --format=json --output=out
  refused "a full disk, extend" "No space left.*free disk space" "$spiece" extend "$work/bpe.model" \
    --input="$work/udhr.txt" --pieces=2000 --model_prefix=c
  if has_tables; then
    refused "a full disk, count" "No space left" "$spiece" count --input="$work/udhr.txt" --output=out
  fi
  for kind in json gguf; do
    refused "a full disk, convert to $kind" "No space left" "$spiece" convert "$work/bpe.model" x.$kind --force
    check "a full disk, convert: a part of x.$kind" [ ! -e x.$kind ]
  done
  refused "a full disk, compare" "No space left" "$spiece" compare "$work/unigram.model" "$work/unigram.model" \
    --text="$work/udhr.txt" --output=out
  rm filler
  check "no new model with room on the disk" train_new
  check "the new files are not whole" is_state new
  mount -o remount,ro none "$1" 2>/dev/null || { skip "a file system cannot be made read-only"; exit; }
  cp "$work"/new/m.* "$work/old/" 2>/dev/null
  refused "a file system that is read-only" "Read-only" train_old
}
# Runs a function in a mount namespace and adds its counts of passed and failed checks.
with_mounts() {
  local counts
  export -f "$@" full_disk has_tables refused check pass fail skip is_state state strays no_strays train_old train_new
  export work spiece
  mkdir -p "$work/disk"
  for unshare in "unshare -m" "unshare -rm"; do
    $unshare true 2>/dev/null || continue
    cp -r "$work/old" "$work/kept"
    $unshare bash -uo pipefail -c "$(declare -p flags); passed=0 failed=0
      trap 'echo \$passed \$failed >$work/counts' EXIT
      $1 $work/disk"
    local status=$?
    rm -rf "$work/old" && mv "$work/kept" "$work/old"
    [ $status -eq 77 ] && continue
    read -r -a counts <"$work/counts"
    passed=$((passed + counts[0])) failed=$((failed + counts[1]))
    return
  done
  skip "no file system can be mounted here, neither by this user nor in a user namespace"
}
with_mounts full_disk
refused "a full device, inspect" "No space left" "$spiece" inspect "$work/unigram.model" --output=/dev/full
refused "a full device" "No space left" "$spiece" encode --model="$work/unigram.model" --output=/dev/full \
  "$work/udhr_small.txt"

section "permissions"
if [ "$(id -u)" -ne 0 ]; then
  as_user() { "$@"; }
elif setpriv --reuid=65534 --regid=65534 --clear-groups true 2>/dev/null; then
  as_user() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
  chown -R 65534 "$work/here"
else
  as_user() { return 77; }
fi
if as_user true; then
  train_as_user() {
    as_user "$spiece" train "${flags[@]}" --vocab_size=600 "$@"
  }
  chmod 555 .
  refused "a folder without write permission" "Permission denied.*permissions" train_as_user
  chmod 755 .
  chmod 444 m.vocab
  refused "a .vocab without write permission" "m.vocab.*Permission denied" train_as_user
  chmod 644 m.vocab
  chmod 000 m.model
  chmod 400 m.model
  refused "a .model without write permission" "m.model.*Permission denied" train_as_user
  chmod 644 m.model
  touch unreadable && chmod 000 unreadable
  refused "an input without read permission" "unreadable.*Permission denied" train_as_user --input=unreadable
  chmod 600 m.model
  chown 65534 m.model 2>/dev/null
  check "no training with all permissions" train_as_user
  check "permissions are not kept" [ "$(stat -c %a m.model)" = 600 ]
else
  skip "no unprivileged user to be"
fi
restore

section "targets of other kinds"
rm m.model && mkdir m.model
check "a folder as a target is accepted" [ "$(train_new 2>&1 | grep -c 'a folder has that name')" = 1 ]
check "the .vocab changed beside a folder" cmp -s m.vocab "$work/old/m.vocab"
rmdir m.model && restore
refused "a missing folder" "create its folder" train_new --model_prefix=none/m
refused "a file as a folder" "m.vocab/m" train_new --model_prefix=m.vocab/m

mkdir real && mv m.model real/ && ln -s real/m.model m.model
check "no training through a link" train_new
check "a link is replaced" [ -L m.model ]
check "the target of a link is not the new model" cmp -s real/m.model "$work/new/m.model"
rm real/m.model
check "no training through a link to nothing" train_new
check "a link to nothing is replaced" [ -L m.model ]
check "nothing is where the link points" cmp -s real/m.model "$work/new/m.model"
check "a stray file where a link points" no_strays .
restore
mv m.model kept && ln -s m.model m.model
check "a link to itself is accepted" [ "$(train_new 2>&1 | grep -c 'cannot write m.model')" = 1 ]
rm m.model && mv kept m.model
check "the files changed" is_state old

mkfifo pipe
timeout 10 cat pipe >read &
reader=$!
"$spiece" encode --model="$work/unigram.model" --output=pipe "$work/udhr_small.txt" 2>"$work/stderr"
quiet "a pipe as a target" $?
wait $reader
check "a pipe is replaced" [ -p pipe ]
"$spiece" encode --model="$work/unigram.model" "$work/udhr_small.txt" >expected
check "a pipe gets other text" cmp -s read expected
timeout 10 head -c 1 pipe >/dev/null &
cat "$work"/udhr.txt "$work"/udhr.txt | "$spiece" encode --model="$work/unigram.model" --output=pipe 2>"$work/stderr"
# The program may end before cat has written everything, which then dies of SIGPIPE.
check "a pipe that is named and whose reader leaves is an error" [ "${PIPESTATUS[1]}" -eq 1 ]
check "the pipe is named" grep -q "cannot write pipe: its reader has left" "$work/stderr"
echo first >read
("$spiece" encode --model="$work/unigram.model" --output=/dev/stdout "$work/udhr_small.txt"; echo last) >>read
check "/dev/stdout is not standard output" cmp -s read <(echo first; cat expected; echo last)
check "no link to a device" ln -s /dev/null device
check "a device does not take text" "$spiece" encode --model="$work/unigram.model" --output=device expected
check "a device is replaced" [ -c /dev/null ]
restore

# --- streams that end ----------------------------------------------------------------------------------------------

section "a reader that leaves"
cat "$work"/udhr.txt "$work"/udhr.txt >text
"$spiece" encode --model="$work/unigram.model" text >pieces
"$spiece" encode --model="$work/unigram.model" --output_format=id text >ids
model=--model=$work/unigram.model
# These do not fail on a full standard output: help, and a run that writes nothing there.
unaffected=(
  "--help"
  "train --help"
  "edit --help"
  "merge --help"
  "prune --help"
  "extend --help"
  "count --help"
  "train --input=$work/few_words.txt --model_prefix=m --vocab_size=40 --quiet"
  "extend $work/bpe.model --input=text --model_prefix=c --pieces=9 --quiet"
)
verbs=(
  "encode $model text"
  "encode $model --output_format=json text"
  "encode $model --output_format=nbest_piece --nbest_size=4 --num_threads=1 $work/few_words.txt"
  "encode $model --generate_vocabulary text"
  "decode $model pieces"
  "decode $model --input_format=id ids"
  "normalize $model text"
  "normalize --normalization_rule_name=nfkc text"
  "normalize --decompile --model=$work/old/m.model"
  "export-vocab $model"
  "export-vocab $model --output_format=syms"
  "eval $model text"
  "inspect $work/unigram.model --text text --languages"
  "inspect $work/unigram.model --format=json"
  "compare $work/unigram.model $work/unigram.model --text text"
)
for verb in "${unaffected[@]}" "${verbs[@]}"; do
  # The first reader takes a line; the second is gone before anything is written.
  # shellcheck disable=SC2086
  "$spiece" $verb 2>"$work/stderr" | head -1 >/dev/null
  quiet "$verb | head -1" "${PIPESTATUS[0]}"
  # shellcheck disable=SC2086
  { sleep 0.05; "$spiece" $verb 2>"$work/stderr"; } | true
  quiet "$verb | true" "${PIPESTATUS[0]}"
done
restore
for verb in "${verbs[@]}"; do
  # shellcheck disable=SC2086
  [ -e text ] || cat "$work"/udhr.txt >text
  [ -e pieces ] || "$spiece" encode $model text >pieces
  [ -e ids ] || "$spiece" encode $model --output_format=id text >ids
  # shellcheck disable=SC2086
  "$spiece" $verb >/dev/full 2>"$work/stderr"
  check "$verb >/dev/full: exit status" [ $? -eq 1 ]
  check "$verb >/dev/full: no message" grep -q "No space left" "$work/stderr"
done
train_new --quiet=false 2>/dev/full || train_new 2>/dev/full
check "training fails if nobody listens" is_state new
restore

section "changed models are written together"
# change ARGUMENT...: changes a model with the verb and the flags in `changing`.
change() { "$spiece" "${changing[@]}" --model_prefix=c --quiet "$@" 2>/dev/null; }
# changed_together LISTING OLD NEW: the files of the runs with these flags are whole. LISTING is the third file.
changed_together() {
  local listing=$1 old=$2 new=$3 verb=${changing[0]} call nth
  rm -rf "$work/changed-old" "$work/changed-new"
  mkdir "$work/changed-old" "$work/changed-new"
  (cd "$work/changed-old" && change "$old") && (cd "$work/changed-new" && change "$new") || fail "$verb: no model"
  if strace -o /dev/null true 2>/dev/null; then
    for call in fsync rename; do
      for nth in $(seq 1 12); do
        cp "$work"/changed-old/c.* .
        strace -f -qq -o /dev/null -e trace="/^$call" -e inject="/^$call:signal=SIGKILL:when=$nth" \
          "$spiece" "${changing[@]}" --model_prefix=c --quiet "$new" 2>/dev/null &
        if wait $! 2>/dev/null; then break; fi
        check "killed at $call $nth: a file of $verb is neither old nor new" \
          each_is_whole "$work/changed-old" "$work/changed-new" c.model c.vocab "$listing"
        remove_strays
      done
    done
  else
    skip "strace is not there or may not trace"
  fi
  cp "$work"/changed-old/c.* .
  rm "$listing" && mkdir "$listing"
  check "$verb: a folder in the place of $listing is accepted" [ "$(change "$new"; echo $?)" = 1 ]
  check "$verb: the model changed beside a folder" cmp -s c.model "$work/changed-old/c.model"
  rmdir "$listing"
  rm -f c.*
}
changing=(prune "$work/new/m.model")
changed_together c.ids.tsv "--keep_text=$work/few_words.txt" "--keep_text=$work/udhr_small.txt"
changing=(extend "$work/bpe.model" --input="$work/udhr_small.txt")
changed_together c.extension.tsv --pieces=20 --pieces=90
extend="extend $work/bpe.model --input=$work/udhr_small.txt --pieces=9"
for verb in "edit $work/old/m.model --add_control=<x>" "merge $work/old/m.model $work/old/m.model" "$extend"; do
  # shellcheck disable=SC2086
  refused "${verb%% *}: a missing folder" "create its folder" "$spiece" $verb --model_prefix=none/c
  # shellcheck disable=SC2086
  refused "${verb%% *}: a file as a folder" "m.vocab/c" "$spiece" $verb --model_prefix=m.vocab/c
done
if as_user true; then
  chmod 555 .
  # shellcheck disable=SC2086
  refused "extend: a folder without write permission" "Permission denied.*permissions" \
    as_user "$spiece" $extend --model_prefix=c
  chmod 755 .
fi
check "a stray file after changed models" no_strays

section "conversions"
"$spiece" train --input="$work/udhr_small.txt" --model_type=bpe --model_prefix="$work/plain" --vocab_size=400 \
  --character_coverage=1 --normalization_rule_name=identity --quiet || fail "no model to convert"
hub() { (cd hub && cat tokenizer.json tokenizer_config.json special_tokens_map.json tokenizer.model) | cksum; }
check "no conversion to a folder" "$spiece" convert "$work/plain.model" hub/ --quiet
first=$(hub)
for name in tokenizer.json tokenizer_config.json special_tokens_map.json tokenizer.model; do
  mv hub/$name kept && mkdir hub/$name
  refused "a folder in the place of $name" "$name" "$spiece" convert "$work/plain.model" hub/ --bos
  rmdir hub/$name && mv kept hub/$name
  check "files changed although $name could not be written" [ "$(hub)" = "$first" ]
done
refused "a conversion into a missing folder" "create its folder" "$spiece" convert "$work/plain.model" none/x.json
refused "a folder in a missing folder" "none/hub" "$spiece" convert "$work/plain.model" none/hub/
refused "a conversion without a format" "which format" "$spiece" convert "$work/plain.model" x
refused "a conversion that is not exact" "nothing was written" "$spiece" convert "$work/bpe.model" x.json
check "a refused conversion wrote a file" [ ! -e x.json ]
check "a forced conversion failed" "$spiece" convert "$work/bpe.model" x.json --force --quiet
head -c 5000 x.json >cut.json
refused "a cut tokenizer.json" "not a valid tokenizer.json" "$spiece" convert cut.json x.model
printf '%s' '{"model": {"type": "WordPiece", "unk_token": "a", "continuing_subword_prefix": "##",' \
  '"max_input_chars_per_word": 100, "vocab": {"a": 0}}}' >cut.json
refused "a tokenizer.json of another type" "model.type is WordPiece" "$spiece" convert cut.json x.model
# A conversion that is killed leaves the old file or the new one.
old_or_new() { cmp -s x.$1 "$work/old.$1" || cmp -s x.$1 "$work/new.$1"; }
if strace -o /dev/null true 2>/dev/null; then
  for kind in json gguf; do
    "$spiece" convert "$work/plain.model" "$work/old.$kind" --force --quiet || fail "no old.$kind"
    "$spiece" convert "$work/bpe.model" "$work/new.$kind" --force --quiet || fail "no new.$kind"
    for call in write fsync rename; do
      for nth in $(seq 1 6); do
        cp "$work/old.$kind" x.$kind
        strace -f -qq -o /dev/null -e trace="/^$call" -e inject="/^$call:signal=SIGKILL:when=$nth" \
          "$spiece" convert "$work/bpe.model" x.$kind --force --quiet 2>/dev/null &
        if wait $! 2>/dev/null; then break; fi
        check "killed at $call $nth: x.$kind is neither old nor new" old_or_new $kind
        remove_strays
        check "killed at $call $nth: no conversion to $kind afterwards" \
          "$spiece" convert "$work/bpe.model" x.$kind --force --quiet
        check "killed at $call $nth: the next conversion does not write x.$kind" cmp -s x.$kind "$work/new.$kind"
        check "killed at $call $nth: a temporary file beside x.$kind" no_strays
      done
    done
  done
else
  skip "strace is not there or may not trace"
fi
rm -rf hub x.json x.gguf cut.json
check "a stray file after conversions" no_strays

section "training data and its shards"
# tokenize ARGUMENT...: writes ids with their index.
tokenize() { "$spiece" encode --model="$work/unigram.model" --output_format=u16 --quiet "$@"; }
mkdir "$work/ids-old" "$work/ids-new"
tokenize --output="$work/ids-old/t.bin" "$work/few_words.txt" && tokenize --output="$work/ids-new/t.bin" "$work/udhr_small.txt" ||
  fail "no training data"
# Fails, because the input is cut off.
tokenize_in_vain() { ! tokenize --output=t.bin cut.gz 2>/dev/null; }
gzip -c "$work/udhr.txt" | head -c 9000 >cut.gz
if strace -o /dev/null true 2>/dev/null; then
  for call in fsync rename; do
    for nth in $(seq 1 12); do
      cp "$work"/ids-old/t.bin* .
      strace -f -qq -o /dev/null -e trace="/^$call" -e inject="/^$call:signal=SIGKILL:when=$nth" \
        "$spiece" encode --model="$work/unigram.model" --output_format=u16 --quiet --output=t.bin "$work/udhr_small.txt" 2>/dev/null &
      if wait $! 2>/dev/null; then break; fi
      check "killed at $call $nth: the ids or their index are neither old nor new" \
        each_is_whole "$work/ids-old" "$work/ids-new" t.bin t.bin.offsets
      remove_strays
    done
  done
else
  skip "strace is not there or may not trace"
fi
cp "$work"/ids-old/t.bin* .
check "ids of a cut input are accepted" tokenize_in_vain
check "the ids changed" each_is_whole "$work/ids-old" "$work/ids-old" t.bin t.bin.offsets
rm t.bin.offsets && mkdir t.bin.offsets
refused_ids() { # refused_ids WHAT PATTERN ARGUMENT...
  local what=$1 pattern=$2
  shift 2
  if tokenize "$@" 2>"$work/stderr"; then fail "ids: $what is accepted"; return; fi
  check "ids: $what: no message like $pattern" grep -q "$pattern" "$work/stderr"
}
refused_ids "a folder as the index" "t.bin.offsets.*folder" --output=t.bin "$work/udhr_small.txt"
check "ids: the ids changed beside a folder" cmp -s t.bin "$work/ids-old/t.bin"
rmdir t.bin.offsets
refused_ids "a missing folder" "create its folder" --output=none/t.bin "$work/udhr_small.txt"
refused_ids "shards in a missing folder" "create its folder" --output=none/t.bin --shards=2 "$work/udhr_small.txt"
refused_ids "an index of a device" "name a file" --output=/dev/full --index=offsets "$work/udhr_small.txt"
refused_ids "a full device" "No space left" --output=/dev/full "$work/udhr_small.txt"
refused_ids "shards of a pipe" "is no file" --output=t.bin --shards=2 <(cat "$work/udhr_small.txt")
rm -f t.bin*

# Runs that are killed at any moment: the next run keeps what is complete, and the shards are those of one run.
for _ in $(seq 8); do cat "$work/udhr.txt"; done >text
tokenize --output=one.bin text
shards=(encode --model="$work/unigram.model" --output_format=u16 --output=s.bin --shards=9 text)
start=$(now)
"$spiece" "${shards[@]}" --quiet
length=$((($(now) - start) / 1000))
cat s-*.bin >all
check "shards are not the ids of one run" cmp -s all one.bin
rm s-*.bin
"$spiece" "${shards[@]}" 2>"$work/stderr"
check "missing shards are kept" [ "$(grep -c '^written: ' "$work/stderr")" = 9 ]
kept=0
for nth in $(seq 20); do
  rm -f s*.bin* s.bin.shards.json
  "$spiece" "${shards[@]}" --quiet 2>/dev/null &
  child=$!
  sleep "$(awk -v n="$nth" -v length_us=$length 'BEGIN { printf "%.6f", n / 20 * length_us / 1e6 }')"
  kill -9 $child 2>/dev/null
  wait $child 2>/dev/null
  complete=$(find . -name 's-*.bin' | wc -l)
  "$spiece" "${shards[@]}" 2>"$work/stderr" || fail "killed $nth: the next run fails"
  cat s-*.bin >all
  check "killed $nth: the shards are not the ids of one run" cmp -s all one.bin
  # The kill may come between the last shard and its entry in the manifest.
  kept_now=$(grep -c '^kept: ' "$work/stderr")
  check "killed $nth: of $complete shards $kept_now are kept" [ "$kept_now" -ge $((complete - 1)) ]
  remove_strays
  kept=$((kept + kept_now))
done
check "no killed run left a shard" [ $kept -gt 0 ]
full_disk_of_shards() {
  here=$PWD
  mount -t tmpfs -o size=200k none "$1" && cd "$1" && echo old >t.bin || exit 77
  refused_ids "a full disk" "No space left" --output=t.bin "$here/text"
  check "ids: a full disk changes the old file" [ "$(cat t.bin)" = old ]
  refused_ids "shards on a full disk" "No space left" --output=f.bin --shards=40 "$here/text"
  check "no shard before the disk was full" [ -s f-00000-of-00040.bin ]
  mount -o remount,size=9m none "$1" || { skip "a file system cannot be made larger"; exit; }
  "$spiece" encode --model="$work/unigram.model" --output_format=u16 --output=f.bin --shards=40 "$here/text" 2>"$work/stderr"
  check "shards before a full disk are not kept" grep -q "^kept: " "$work/stderr"
  cat f-*.bin >all
  check "shards after a full disk are not the ids of one run" cmp -s all "$here/one.bin"
  check "a stray file after a full disk" no_strays
}
export -f refused_ids tokenize
with_mounts full_disk_of_shards
if as_user true; then
  chmod 555 .
  refused "ids in a folder without write permission" "Permission denied.*permissions" \
    as_user "$spiece" encode --model="$work/unigram.model" --output_format=u16 --output=p.bin --shards=2 text
  chmod 755 .
fi
restore
section "tables of word counts"
if has_tables; then
  "$spiece" count --quiet --input="$work/udhr_small.txt" --output=c.parquet
  cp c.parquet "$work/old.parquet"
  count() { "$spiece" count --quiet "$@" --output=c.parquet 2>/dev/null; }
  if strace -o /dev/null true 2>/dev/null; then
    for call in fsync rename write; do
      strace -f -qq -o /dev/null -e trace="/^$call" -e inject="/^$call:signal=SIGKILL:when=1" \
        "$spiece" count --quiet --input="$work/udhr.txt" --output=c.parquet 2>/dev/null
      check "killed at $call: a broken table" cmp -s c.parquet "$work/old.parquet"
    done
  else
    skip "strace is not there or may not trace"
  fi
  remove_strays
  check "no sum of two tables" count --merge c.parquet c.parquet
  check "the table of a killed run is not replaced" [ "$(cmp -s c.parquet "$work/old.parquet"; echo $?)" = 1 ]
  check "a stray file after a table" no_strays
  head -c 100 "$work/old.parquet" >cut.parquet
  refused "a table that is cut off" "cut.parquet is not a table" "$spiece" count --merge cut.parquet --output=d
  refused "a text as a table" "is not a table" "$spiece" train --input="$work/udhr.txt" --input_format=counts --model_prefix=m
  refused "a table in a missing folder" "create its folder" "$spiece" count --merge c.parquet --output=none/d
  rm -f c.parquet cut.parquet
else
  skip "the program was built without the feature parquet"
fi

section "the text and the flags of extend"
changing=(extend "$work/bpe.model")
change --input="$work/udhr_small.txt" --pieces=40 && mkdir from-file && mv c.* from-file
check "no extension by standard input" change --input=- --pieces=40 <"$work/udhr_small.txt"
for name in c.model c.vocab c.extension.tsv; do
  check "standard input gives another $name than a file" cmp -s $name from-file/$name
done
(head -c 20000 "$work/udhr_small.txt"; sleep 0.3; tail -c +20001 "$work/udhr_small.txt") |
  change --input=- --pieces=40 --text="$work/few_words.txt"
check "a pipe that pauses gives another model than a file" cmp -s c.model from-file/c.model
rm -r c.* from-file
hostile() { refused "extend $1" "$2" timeout 60 "$spiece" extend "$work/bpe.model" --model_prefix=c "${@:3}"; }
hostile "by more pieces than there are" "gives .* new pieces" --input="$work/few_words.txt" --pieces=18446744073709551615
hostile "to a size that is too large" "gives .* new pieces" --input="$work/few_words.txt" --vocab_size=18446744073709551615
hostile "up to a multiple that is too large" "gives .* new pieces" --input="$work/few_words.txt" --multiple_of=9999999999
hostile "filled up to a large multiple" "65536" --input="$work/few_words.txt" --pieces=1 --multiple_of=9999999999
hostile "by a number below 0" "pieces" --input="$work/few_words.txt" --pieces=-1
hostile "to a multiple of 0" "multiple_of" --input="$work/few_words.txt" --multiple_of=0
hostile "with a pattern of nothing" "no piece is like" --input="$work/few_words.txt" --pieces=1 --reuse=
hostile "with a long pattern" "reuse" --input="$work/few_words.txt" --pieces=1 --reuse="$(printf '*?%.0s' $(seq 9999))"
hostile "with the pattern of all pieces" "cannot be reused" --input="$work/few_words.txt" --pieces=1 "--reuse=*"
hostile "with a symbol that exists" "already" --input="$work/few_words.txt" --pieces=1 "--control_symbols=<s>"
hostile "by a folder" "input\|directory\|read" --input=. --pieces=1
hostile "by a missing file" "none.txt" --input=none.txt --pieces=1
hostile "by an empty file" "no sentence" --input=/dev/null --pieces=1
hostile "with pieces of no length" "max_sentencepiece_length" --input="$work/few_words.txt" --pieces=1 \
  --max_sentencepiece_length=0
check "a stray file after refused extensions" no_strays

section "inputs that change"
gzip -c "$work/udhr.txt" 2>/dev/null | head -c 20000 >cut.gz
refused "a compressed file that was cut" "cut.gz.*damaged" train_new --input=cut.gz
truncate -s 4096 zeros.gz
refused "a compressed file of zeros" "zeros.gz.*damaged" train_new --input=zeros.gz
rm -f cut.gz zeros.gz
for round in $(seq 10); do
  for _ in $(seq 20); do cat "$work/udhr.txt"; done >text
  "$spiece" train --input=text --model_prefix=x --vocab_size=2000 --quiet 2>"$work/stderr" --input_sentence_size=2000 &
  child=$!
  sleep "0.0$round"
  truncate -s $((round * 1000)) text
  wait $child
  status=$?
  if [ $status -eq 0 ]; then
    check "an input that shrinks: no valid model" "$spiece" export-vocab --model=x.model --output=x.out
  elif [ $status -eq 1 ]; then
    check "an input that shrinks: no message" grep -q "^spiece: " "$work/stderr"
  else
    fail "an input that shrinks: exit status $status"
  fi
done
check "a stray file after inputs that change" no_strays

section ""
printf '%s passed, %s failed\n' $passed $failed
[ $failed -eq 0 ]
