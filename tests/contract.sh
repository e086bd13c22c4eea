#!/usr/bin/env bash
# Runs the client's operations against a mock that judges them by GitHub's own description of its API.
# Passes only if the test ran to its end, the mock saw its requests, and none was refused.
#
#   tests/contract.sh FOLDER    FOLDER has start.sh (see `make test-contract`)
set -euo pipefail
cd "$(dirname "$0")/.."
start=$(cd "$1" && pwd)/start.sh
work=$PWD/target/github-contract
# Fewer requests than this cannot be all of them.
least=60

url=$(bash "$start" --dir "$work")
port=${url##*:}
test -n "$url"
trap 'bash "$start" --stop --dir "$work" --port "$port"' EXIT

output=$(GITHUB_CONTRACT_URL=$url cargo test --quiet --test github_transport contract:: -- --nocapture 2>&1) ||
  { echo "$output"; bash "$start" --violations --dir "$work" --port "$port" || true; exit 1; }
grep -q "judged by GitHub's description: every operation" <<<"$output" ||
  { echo "$output"; echo "the contract's test did not run to its end"; exit 1; }

if ! violations=$(bash "$start" --violations --dir "$work" --port "$port"); then
  echo "GitHub's description objects:"
  echo "$violations"
  exit 1
fi
seen=$(grep -ac 'Request received' "$work/mock-$port.log" || true)
if [ "$seen" -lt "$least" ]; then
  echo "the mock saw $seen requests, fewer than $least: nothing was judged"
  exit 1
fi
echo "GitHub's description has nothing to object to in $seen requests"

# Conversations of the whole bot with a stateful GitHub behind the same judge.
cargo build --quiet --example scripted_engine
output=$(GITHUB_CONTRACT_START=$start cargo test --quiet --test app contract:: -- --nocapture --test-threads=1 2>&1) ||
  { echo "$output"; exit 1; }
judged=$(grep -c "requests of a conversation" <<<"$output" || true)
if [ "$judged" -lt 2 ]; then
  echo "$output"
  echo "only $judged conversations were judged"
  exit 1
fi
grep "requests of a conversation" <<<"$output"
