#!/usr/bin/env bash
# Searches with a language model on a GPU, in as many sittings as its answers take:
#
#   tests/gpu/rewrites.sh target/release/kernelbrain BENCHMARKS OUT
#
# BENCHMARKS is a folder of folders with input_kernel.py and test.py. In OUT each operator has its report, one
# database holds all runs, and prompts lie in OUT/NAME.prompts until somebody (or something) has put an
# ID.answer.md beside each ID.prompt.md. Run it again then: runs that are parked go on, those that are over are
# left alone; a run that restore.py put there goes on as well. MODEL names another provider (then nothing parks),
# REWRITES and BUDGET bound each operator, ONLY names the operators, DEVICE another device than cuda. Exit status 5
# while answers are awaited.
set -euo pipefail
binary=$(realpath "$1")
benchmarks=$2
out=$3
rewrites=${REWRITES:-24}
budget=${BUDGET:-300s}
mkdir -p "$out"
export KERNELBRAIN_DB="$out/runs.db"
awaited=0
for folder in "$benchmarks"/*/; do
  name=$(basename "$folder")
  [ -f "$folder/input_kernel.py" ] && [ -f "$folder/test.py" ] || continue
  [ -z "${ONLY:-}" ] || [[ " $ONLY " == *" $name "* ]] || continue
  if [ -f "$out/$name.over" ]; then
    continue
  fi
  prompts="$out/$name.prompts"
  status=0
  resume=()
  [ ! -f "$out/$name.run" ] || resume=(--resume "$(cat "$out/$name.run")")
  "$binary" optimize "$folder/input_kernel.py" --test "$folder/test.py" --device "${DEVICE:-cuda}" --budget "$budget" \
    --model "${MODEL:-folder:$prompts}" --rewrites "$rewrites" --out "$out/$name" --plain "${resume[@]}" \
    2>> "$out/$name.log" > "$out/$name.txt" || status=$?
  case $status in
    0) touch "$out/$name.over"; echo "$name: over" ;;
    5) awaited=1; echo "$name: $(find "$prompts" -name '*.prompt.md' | while read -r prompt; do
         [ -f "${prompt%.prompt.md}.answer.md" ] || echo; done | wc -l) prompts await answers in $prompts" ;;
    *) echo "$name: exit status $status"; tail -n 5 "$out/$name.log"; exit "$status" ;;
  esac
done
python3 "$(dirname "$0")/summary.py" "$out" > "$out/summary.md"
cat "$out/summary.md"
[ "$awaited" = 0 ] || exit 5
