"""What was said last of each subject, so that a log says it once and not at every attempt."""

from __future__ import annotations


class SaidOnce:
    """The last text per subject."""

    def __init__(self) -> None:
        self._last: dict[str, str] = {}

    def is_news(self, subject: str, text: str = "") -> bool:
        """True unless this is what was said last of the subject; it is from now on."""
        if self._last.get(subject) == text:
            return False
        self._last[subject] = text
        return True

    def forget(self, subject: str) -> None:
        """Whatever comes next of the subject is news."""
        self._last.pop(subject, None)
