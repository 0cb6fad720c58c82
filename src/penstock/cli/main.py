"""The `penstock` command. Ctrl-C ends it with one line from its first moment on, while its own code is loaded too."""

from __future__ import annotations

import os
import signal
from types import FrameType

from penstock.cli.exit_codes import INTERRUPTED


def main() -> None:
    """Run the command line."""
    signal.signal(signal.SIGINT, _stop)
    # Here and not above: to load the commands takes longest, and nothing is lost if that is cut off.
    from penstock.cli.app import app

    app()


def _stop(number: int, frame: FrameType | None) -> None:
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()
