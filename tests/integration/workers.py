"""Worker processes that can be told what to do, and where to stop.

A nursery is a process that starts Spark and does nothing else; each worker is a fork of it. So a worker is a process of
its own as far as Penstock goes (catalog, leases, logs, delta-rs commits), and killing one costs no JVM start. A worker
talks over a socket: one JSON document per line each way.

A worker can be given a failpoint (`penstock.failpoints`) by its name, and what to do when it gets there.

    kill    SIGKILL itself
    stop    say so, then SIGSTOP itself
    wait    say so, and go on when it is told to
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from penstock.catalog.warehouse_folder import TABLES_FOLDER


class Worker:
    """A worker process, seen from the test."""

    def __init__(self, line: socket.socket) -> None:
        self._socket = line
        self._line = line.makefile("rw")
        self.pid = int(self._line.readline())
        self._handle = os.pidfd_open(self.pid)
        self.mended: list[str] = []
        """What was found when the catalog was rebuilt."""

    def send(self, do: str, **facts: Any) -> None:
        self._line.write(json.dumps({"do": do, **facts}) + "\n")
        self._line.flush()

    def hear(self) -> Any:
        """The next thing that it says; EOFError if it is dead."""
        told = self._line.readline()
        if not told:
            raise EOFError(f"worker {self.pid} is gone")
        return json.loads(told)

    def ask(self, do: str, **facts: Any) -> Any:
        """Tell it to do something and wait for the answer; its errors are assertion errors here."""
        self.send(do, **facts)
        answer = self.hear()
        assert "error" not in answer, answer["error"]
        return answer["value"]

    def is_silent(self, seconds: float) -> bool:
        """True if it says nothing for so long."""
        return not select.select([self._socket], [], [], seconds)[0]

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal; nothing happens if it is gone."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, number)

    def dies(self, do: str, **facts: Any) -> None:
        """Tell it to do something in which it must be killed."""
        self.send(do, **facts)
        answer = self._line.readline()
        assert not answer, f"worker {self.pid} was to die, but said {answer}"
        self.gone()

    def end(self) -> None:
        """Let it end by itself."""
        self._socket.shutdown(socket.SHUT_WR)
        self.gone()

    def gone(self) -> None:
        """Wait until it is."""
        assert select.select([self._handle], [], [], 60)[0], f"worker {self.pid} is still there"
        self._line.close()
        self._socket.close()


class Nursery:
    """A process with a running Spark that forks workers."""

    def __init__(self, warehouse: Path) -> None:
        self.warehouse = warehouse
        self.tables = _session_root(warehouse) / TABLES_FOLDER
        """Where managed tables of the default schema lie."""
        environment = {**os.environ, "PENSTOCK_DRIVER_MEMORY": "2g", "PENSTOCK_SHUFFLE_PARTITIONS": "1"}
        # These tests say which action they want: no worker tries the slower mode, or goes by measured seconds.
        environment["PENSTOCK_LEARN_COSTS"] = "false"
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(warehouse)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # A path in the warehouse could be too long for a socket's name: an abstract one is not.
        self._address = f"\0penstock-workers-{self._process.pid}"
        self._listener.bind(self._address)
        self._listener.listen()
        self._listener.settimeout(300)
        self._born: list[Worker] = []

    def worker(
        self,
        path: Path | None = None,
        host: str | None = None,
        catalog: str | None = None,
        mend: bool = False,
        **settings: Any,
    ) -> Worker:
        """A new worker, with the warehouse (or another one) opened; `host` is the machine that it claims to be on.

        With `mend`, the catalog is rebuilt first.
        """
        assert self._process.stdin is not None
        print(self._address[1:], file=self._process.stdin, flush=True)
        born = Worker(self._listener.accept()[0])
        self._born.append(born)
        if host is not None:
            born.ask("pretend", host=host)
        if mend:
            born.mended = born.ask("mend", path=None if path is None else str(path))
        born.ask("open", settings=settings, path=None if path is None else str(path), catalog=catalog)
        return born

    def kill_all(self) -> None:
        """Kill every worker that is still there."""
        for worker in self._born:
            worker.signal(signal.SIGKILL)
        self._born.clear()

    def close(self) -> None:
        self.kill_all()
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._listener.close()


def _session_root(warehouse: Path) -> Path:
    # The default schema of the nursery's session lies in no warehouse, so that it may be any warehouse's.
    return Path(f"{warehouse}-spark")


# -- inside the nursery


def _nursery(warehouse: Path) -> None:
    from penstock.engine.spark.session import start_session
    from penstock.settings import Settings

    # Tiny queries: generating code for them, and compiling it well, costs more than it brings.
    brisk = {
        "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
    }
    spark = start_session(_session_root(warehouse), Settings.load(warehouse), extra=brisk)
    # Dead workers must be gone at once, not wait as zombies for somebody to ask how they ended.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for address in sys.stdin:
        # Nothing that keeps threads of its own (delta-rs, Arrow) has run in this process, so it can be forked.
        if os.fork() == 0:
            line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            line.connect("\0" + address.strip())
            # A new thread has a connection to the JVM of its own.
            body = threading.Thread(target=_Body(warehouse, spark, line.makefile("rw")).work)
            body.start()
            body.join()
            os._exit(0)
    spark.stop()


class _Body:
    def __init__(self, warehouse: Path, spark: Any, line: Any) -> None:
        self._warehouse = warehouse
        self._spark = spark
        self._line = line
        self._ps: Any = None
        self._running: Any = None

    def work(self) -> None:
        self._take_callbacks()
        self._say(os.getpid())
        for asked in iter(self._line.readline, ""):
            facts = json.loads(asked)
            try:
                value = getattr(self, facts.pop("do"))(**facts)
            except Exception as error:
                self._say({"error": f"{type(error).__name__}: {error}"})
            else:
                self._say({"value": value})
        if self._ps is not None:
            self._ps.close()

    def _take_callbacks(self) -> None:
        """A JVM calls back to one process only: to the one that was the last to ask, so ask every time."""
        from penstock.engine.spark import catalyst

        started, called_back = catalyst.ensure_callback_server_started, catalyst.Catalyst._called_back

        def take(gateway: Any) -> None:
            gateway._callback_server = None
            started(gateway)

        def called_back_again(self: Any, transform: Any, function: Any) -> Any:
            for _ in range(10):
                try:
                    return called_back(self, transform, function)
                except Exception as error:
                    # The JVM still tried to reach the worker that asked before: it is gone, or does not know what for.
                    if not any(
                        sign in str(error)
                        for sign in ("java.net.", "Py4JNetwork", "Object ID unknown", "Connection refused")
                    ):
                        raise
            return called_back(self, transform, function)

        catalyst.ensure_callback_server_started = take
        catalyst.Catalyst._called_back = called_back_again  # type: ignore[method-assign]

    def _say(self, value: Any) -> None:
        self._line.write(json.dumps(value, default=str) + "\n")
        self._line.flush()

    def pretend(self, host: str) -> None:
        """Be on another machine, as far as names go: nobody can tell by the process number whether it lives."""
        from penstock.catalog import owner

        owner._host = lambda: host  # type: ignore[assignment]

    def owner(self) -> str:
        from penstock.catalog.owner import current_owner

        return current_owner()

    def open(self, settings: dict[str, Any], path: str | None = None, catalog: str | None = None) -> None:
        import penstock

        session = self._spark.newSession()
        self._ps = penstock.open(path or self._warehouse, spark=session, catalog=catalog, settings=settings)

    def mend(self, path: str | None = None) -> list[str]:
        """Rebuild the catalog before the warehouse is opened."""
        import penstock

        return list(penstock.repair(path or self._warehouse, spark=self._spark.newSession()).lines)

    def run(self) -> None:
        """Stand for leadership, and keep everything fresh."""
        self._running = self._ps.run()

    def leads(self) -> list[Any]:
        """Whether it leads, who does instead, and what it is at."""
        return [self._running.leads, self._running.rival, self._running.at_work()]

    def stop(self) -> list[str]:
        """Let running refreshes end; those that did not."""
        left: list[str] = self._running.stop()
        return left

    def cramp(self, size: int | None) -> None:
        """Let this process's files grow no further than this; None lifts it."""
        import resource

        most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (most if size is None else size, most))

    def set_clock_back(self, seconds: int) -> None:
        """Set the clock on this process's wall back."""
        from datetime import UTC, datetime, timedelta

        from penstock.schedule.clock import SystemClock

        def behind(*_: Any) -> datetime:
            return datetime.now(UTC) - timedelta(seconds=seconds)

        SystemClock.now = behind  # type: ignore[assignment,method-assign]
        warehouse = self._ps._warehouse
        warehouse.now = warehouse.refresher._now = warehouse.recorder._now = behind
        warehouse.catalog.now = behind

    def forget(self, statements: list[str]) -> None:
        """Run statements behind Penstock's back."""
        for statement in statements:
            self._spark.sql(statement)

    def sql(self, text: str) -> list[list[Any]]:
        result = self._ps.sql(text, yes=True)
        rows = result.collect() if hasattr(result, "collect") else result.rows
        return [list(row) for row in rows]

    def refresh(self, name: str) -> dict[str, Any]:
        result: dict[str, Any] = self._ps.refresh(name).to_json()
        return result

    def exact(self, names: list[str], audited: bool = True) -> None:
        from penstock.testing.oracle import assert_exact

        for name in names:
            assert_exact(self._ps, name)
            assert not audited or self._ps.audit(name).exact

    def info(self, name: str | None = None) -> Any:
        return self._ps.info(name)

    def graph(self) -> Any:
        return self._ps.graph().to_json()

    def history(self, name: str) -> list[dict[str, Any]]:
        return [
            {"action": each.action, "status": each.status, "error": each.error_message}
            for each in self._ps.history(name)
        ]

    def optimize(self, name: str) -> list[dict[str, Any]]:
        return [each.to_json() for each in self._ps.optimize(name)]

    def repair(self) -> list[str]:
        return list(self._ps.repair().lines)

    def fail(self, step: str, how: str, time: int = 1) -> None:
        """Do that when the step is reached for the n-th time."""
        from penstock.failpoints import Failpoint, arm

        here = {"kill": self._kill, "stop": self._stop, "wait": self._wait}[how]
        arm(Failpoint(step), lambda: here(step), passing=time)

    def _kill(self, step: str) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def _stop(self, step: str) -> None:
        # Not in the middle of a catalog write: that would hold up every other process, as SQLite has it. PostgreSQL
        # puts whoever stops there out, and has no lock of this kind.
        with getattr(self._ps._warehouse.catalog._database, "lock", contextlib.nullcontext()):
            self._say({"at": step})
            # To this thread: sent to the process, the signal is the main thread's to take, and this one would run on
            # for a moment, out of the lock and into the next write.
            signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)

    def _wait(self, step: str) -> None:
        self._say({"at": step})
        assert json.loads(self._line.readline()) == {"do": "go on"}


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        _nursery(Path(sys.argv[1]))
