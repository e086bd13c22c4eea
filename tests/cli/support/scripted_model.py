"""A program in the place of a language model, for tests of everything around one. It says what its first
argument tells it to, by the turn of the conversation; nobody should take it for a model."""
import pathlib
import sys

RECIPE = "```recipe\ntile BLOCK={}\n```\n\n```prediction\nduration down 2x\n```"
BROKEN = "```python\nimport torch\nimport triton\n\n\ndef kernel_function(x):\n    return torch.softmax(x, -1)\n```"

GOOD = "```python\n" + pathlib.Path("kernel.py").read_text().replace("BLOCK = 32", "BLOCK = 128") + "```"

prompt = sys.stdin.read()
turn = prompt.count("# You answered")
calls = pathlib.Path("calls.txt")
with calls.open("a") as log:
    log.write(f"{turn}\n")
number = len(calls.read_text().split())
USELESS = [
    lambda: "I am sorry, but I cannot help with that.",
    lambda: "\x00\x1b[31m```python\n" + "def (" * 2000,
    lambda: prompt,
    lambda: "",
    lambda: "x" * (12 << 20),
    lambda: sys.exit("no model here"),
]
plays = {
    # Something else each time.
    "recipes": lambda: RECIPE.format(2 ** (6 + number % 4)),
    # First an answer that cannot be read, then one that a gate rejects, then a good one.
    "learner": lambda: ["It is fast enough.", BROKEN][turn] if turn < 2 else GOOD,
    # Of no use, in another way each time.
    "useless": lambda: USELESS[number % len(USELESS)](),
}
sys.stdout.write(plays[sys.argv[1]]())
