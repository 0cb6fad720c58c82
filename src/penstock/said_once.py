"""The last text logged about each subject, so that a log has it once and not at every attempt."""

from __future__ import annotations


class SaidOnce:
    """The last text per subject."""

    def __init__(self) -> None:
        self._last: dict[str, str] = {}

    def is_news(self, subject: str, text: str = "") -> bool:
        """True unless this is the last text of the subject; from now on it is."""
        if self._last.get(subject) == text:
            return False
        self._last[subject] = text
        return True

    def forget(self, subject: str) -> None:
        """Forget the last text of the subject, so that the next one is news."""
        self._last.pop(subject, None)
