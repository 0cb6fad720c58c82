"""Kills schedulers. Run it with `make kills`, or from `tests/` with `integration/` on the path:

python -m kills --kills 200 --seed 7             many kills
python -m kills --kills 10 --seed 7 --from 41    kills 41 to 50 of that series, on a new warehouse
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from kills.runner import Kills


def main() -> int:
    options = argparse.ArgumentParser(prog="kills", description=__doc__)
    options.add_argument("--kills", type=int, default=200)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--from", type=int, default=1, dest="first", help="the number of the first kill")
    given = options.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="penstock-kills-"))
    began = time.monotonic()
    print(f"seed {given.seed}, in {folder}")
    kills = Kills(folder, given.seed, lambda line: print(line, flush=True))
    try:
        tally = kills.run(given.first, given.first + given.kills - 1)
    finally:
        kills.close()
    print(f"\n{tally.text()}\nin {(time.monotonic() - began) / 60:.1f} minutes")
    if not tally.findings.none:
        print(f"{tally.findings}\nthe warehouse is left in {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
