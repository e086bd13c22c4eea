"""A table of the reports in a folder: python3 tests/gpu/summary.py FOLDER"""
import json
import pathlib
import sys

COLUMNS = ("operator", "case", "eager µs", "compile µs", "baseline µs", "best µs", "speedup", "95 % interval", "outcome")


def number(value, form=".1f"):
    return "–" if value is None else format(value, form)


def rows(folder):
    for path in sorted(pathlib.Path(folder).glob("*/report.json")):
        report = json.loads(path.read_text())
        for case in report["cases"]:
            interval = "–" if case["low"] is None else f"{case['low']:.3f} to {case['high']:.3f}"
            yield (
                report["target"]["name"], case["name"], number(case["eager_us"]), number(case["compile_us"]),
                number(case["baseline_us"]), number(case["best_us"]), number(case["speedup"], ".3f"), interval,
                report["outcome"],
            )


def main():
    print("| " + " | ".join(COLUMNS) + " |")
    print("|" + " --- |" * len(COLUMNS))
    for row in rows(sys.argv[1]):
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
