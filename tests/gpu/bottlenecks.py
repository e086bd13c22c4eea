"""Ten kernels with a planted bottleneck each: does the diagnosis name it?

    python3 tests/gpu/bottlenecks.py target/release/kernelbrain --out bottlenecks.json

Each file of tests/gpu/bottlenecks is a kernel with its contract; EXPECTED is the finding that must come first.
Four are prepared at a time, which is importing and compiling; the GPU's counters are read by one at a time,
since kernelbrain keeps the profiler to one process of a machine. Takes about a minute and a half on an H200.
Exits with 0 when at least --least (9) are named rightly.
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import time

FOLDER = pathlib.Path(__file__).with_name("bottlenecks")


def expected(file):
    return re.search(r'^EXPECTED = "(\w+)"', file.read_text(), re.MULTILINE)[1]


def profile(arguments, file):
    command = [arguments.binary, "profile", file, "--test", file, "--device", arguments.device,
               "--sandbox", arguments.sandbox, "--json"]
    started = time.monotonic()
    row = {"kernel": file.stem, "expected": expected(file), "command": " ".join(map(str, command))}
    try:
        ended = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=arguments.timeout)
    except subprocess.TimeoutExpired:
        return {**row, "error": f"no end within {arguments.timeout} s", "found": [], "right": False}
    row["seconds"] = round(time.monotonic() - started, 1)
    if ended.returncode:
        return {**row, "error": ended.stderr.strip()[-2000:], "found": [], "right": False}
    result = json.loads(ended.stdout)
    found = [detail["bottleneck"] for detail in result["diagnosis"]["details"]]
    return {**row, "found": found, "right": found[:1] == [row["expected"]], **result}


def table(rows):
    yield "| kernel | planted | found first | class | finding |"
    yield "| --- | --- | --- | --- | --- |"
    for row in rows:
        diagnosis = row.get("diagnosis", {"class": "–", "findings": []})
        text = (diagnosis["findings"] or [row.get("error", "–").splitlines()[-1][:200]])[0]
        first = (row["found"] or ["–"])[0]
        mark = "" if row["right"] else "**"
        yield f"| {row['kernel']} | {row['expected']} | {mark}{first}{mark} | {diagnosis['class']} | {text} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("kernels", nargs="*", help="names of files in bottlenecks/ [default: all]")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--sandbox", default="required")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--timeout", type=int, default=150)
    parser.add_argument("--least", type=int, default=9)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    arguments = parser.parse_intermixed_args()
    files = [file for file in sorted(FOLDER.glob("*.py")) if not arguments.kernels or file.stem in arguments.kernels]
    started = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        rows = list(pool.map(lambda file: profile(arguments, file), files))
    right = sum(row["right"] for row in rows)
    result = {"command": " ".join(sys.argv), "seconds": round(time.monotonic() - started, 1),
              "right": right, "of": len(rows), "kernels": rows}
    arguments.out.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    print("\n".join(table(rows)))
    print(f"\n{right} of {len(rows)} named rightly, in {result['seconds']} s")
    sys.exit(0 if right >= min(arguments.least, len(rows)) else 1)


if __name__ == "__main__":
    main()
