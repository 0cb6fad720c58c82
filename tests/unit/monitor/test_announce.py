"""An alert reaches every sink, whatever the others do."""

from __future__ import annotations

import logging
import time

import pytest
from monitored import NOON, Add, Receiver, alert

from penstock.catalog import Alert, AlertEvent, SqliteCatalog
from penstock.monitor import post
from penstock.monitor.announce import Announcer
from penstock.monitor.sinks.callback import CallbackSink
from penstock.monitor.sinks.log import LogSink
from penstock.monitor.sinks.table import TableSink
from penstock.monitor.sinks.webhook import WebhookSink


class Broken:
    name = "broken"

    def __init__(self) -> None:
        self.works = False

    def deliver(self, alert: Alert) -> None:
        if not self.works:
            raise OSError("disk full")


class Kept:
    name = "kept"

    def __init__(self) -> None:
        self.alerts: list[Alert] = []

    def deliver(self, alert: Alert) -> None:
        self.alerts.append(alert)


def test_a_failing_sink_hurts_nobody_and_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    broken, kept = Broken(), Kept()
    announcer = Announcer([broken, kept])
    with caplog.at_level(logging.WARNING, "penstock.monitor"):
        announcer(alert())
        announcer(alert())
        broken.works = True
        announcer(alert())
        broken.works = False
        announcer(alert())
    assert len(kept.alerts) == 4
    assert announcer.failures == {"broken": 3, "kept": 0}
    assert [each.getMessage() for each in caplog.records] == ["alerts do not reach broken: OSError: disk full"] * 2


def test_the_log_has_the_facts_as_fields(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "penstock.alert"):
        LogSink().deliver(alert(lag_seconds=130.0))
        LogSink().deliver(alert(AlertEvent.RESUMED))
    first, second = caplog.records
    assert first.getMessage() == "default.revenue lag_exceeded: lag_seconds=130.0"
    assert (first.levelname, second.levelname) == ("WARNING", "INFO")
    assert first.__dict__["stream_table"] == "default.revenue"
    assert first.__dict__["event"] == "lag_exceeded"
    assert first.__dict__["facts"] == {"lag_seconds": 130.0}


def test_the_table_keeps_alerts(catalog: SqliteCatalog, add: Add) -> None:
    add()
    TableSink(catalog).deliver(alert(error='it\'s "quoted"'))
    assert catalog.recent_alerts() == [alert(error='it\'s "quoted"')]


def test_every_function_is_called_also_behind_one_that_raises() -> None:
    sink = CallbackSink()
    told: list[Alert] = []

    def broken(_: Alert) -> None:
        raise RuntimeError("mine")

    sink.add(broken)
    end = sink.add(told.append)
    sink.deliver(alert())
    _until(lambda: len(told) == 1)
    end()
    sink.deliver(alert())
    sink.background.close()
    assert told == [alert()]
    assert sink.background.failed == 2


def test_a_webhook_gets_json(receiver: Receiver) -> None:
    sink = WebhookSink(receiver.url)
    sink.deliver(alert(lag_seconds=130.0, error='ä "b"'))
    sink.background.close()
    assert receiver.posted == [
        {
            "event": "lag_exceeded",
            "st": "default.revenue",
            "at": NOON.isoformat(),
            "lag_seconds": 130.0,
            "error": 'ä "b"',
        }
    ]
    assert receiver.headers[0]["Content-Type"] == "application/json; charset=utf-8"


def test_a_receiver_that_is_slow_delays_nobody(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    # No try is given up and made again.
    monkeypatch.setattr(post, "TIMEOUT", 60.0)
    receiver.hold.clear()
    sink = WebhookSink(receiver.url)
    began = time.monotonic()
    for _ in range(50):
        sink.deliver(alert())
    # The receiver keeps each of them waiting for ten seconds.
    assert time.monotonic() - began < 60
    receiver.hold.set()
    sink.background.close(patience=60)
    assert len(receiver.posted) == 50


def _until(true: object) -> None:
    deadline = time.monotonic() + 60
    while not true():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.01)
