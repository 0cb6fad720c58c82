"""What Spark says when something goes wrong, for people."""

from __future__ import annotations


def first_lines(error: Exception | str) -> str:
    """The part of a Spark message that is meant for people: before the plan and the stack."""
    text = str(error).split("\n\nJVM stacktrace")[0]
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith(("'", "+-", ":-", "   +-")) and not line.startswith("== "):
            break
        lines.append(line)
    return "\n".join(lines).strip().rstrip(";")
