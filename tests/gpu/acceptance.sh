#!/usr/bin/env bash
# What only a GPU can show. Anyone with a CUDA GPU, torch and triton can run it:
#
#   tests/gpu/acceptance.sh target/release/kernelbrain [BENCHMARKS] [OUT]
#
# BENCHMARKS is a folder of folders with input_kernel.py and test.py (default: examples); OUT gets
# one report folder per operator and summary.json. BUDGET is the wall clock per operator.
set -euo pipefail
binary=$(realpath "$1")
benchmarks=${2:-examples}
out=${3:-kernelbrain-out/acceptance}
budget=${BUDGET:-90s}
mkdir -p "$out"
export KERNELBRAIN_DB="$out/runs.db"
failed=0
for folder in "$benchmarks"/*/; do
  name=$(basename "$folder")
  [ -f "$folder/input_kernel.py" ] && [ -f "$folder/test.py" ] || continue
  echo "== $name"
  "$binary" optimize "$folder/input_kernel.py" --test "$folder/test.py" --device cuda \
    --budget "$budget" --out "$out/$name" --plain 2> "$out/$name.log" || { echo "$name: exit $?"; tail -n 5 "$out/$name.log"; failed=1; continue; }
  # The winner once more, by the same gates in a new process on other seeds.
  if ! cmp -s "$out/$name/best.py" "$folder/input_kernel.py"; then
    "$binary" bench "$out/$name/best.py" --test "$folder/test.py" --against "$folder/input_kernel.py" \
      --device cuda --seed $RANDOM --json > "$out/$name.again.json" || { echo "$name: the winner was not confirmed"; failed=1; }
  fi
done
python3 "$(dirname "$0")/summary.py" "$out" > "$out/summary.md"
cat "$out/summary.md"
exit $failed
