"""A post is tried again where that can help, and only there."""

from __future__ import annotations

import socket
import threading
import urllib.error

import pytest
from monitored import Receiver

from penstock.monitor.post import post

QUICK = (0.01, 0.01, 0.01)


def test_passing_troubles_are_tried_again(receiver: Receiver) -> None:
    receiver.answers = [503, 429, 500]
    post(receiver.url, {"a": 1}, threading.Event(), QUICK)
    assert receiver.posted == [{"a": 1}]
    assert receiver.tries == 4


def test_the_last_trouble_is_raised(receiver: Receiver) -> None:
    receiver.answers = [503] * 9
    with pytest.raises(urllib.error.HTTPError, match="503"):
        post(receiver.url, {}, threading.Event(), QUICK)
    assert receiver.tries == 4


def test_a_refusal_is_final(receiver: Receiver) -> None:
    receiver.answers = [404]
    with pytest.raises(urllib.error.HTTPError, match="404"):
        post(receiver.url, {}, threading.Event(), QUICK)
    assert receiver.tries == 1


def test_nobody_there() -> None:
    # A port that is held and at which nobody listens.
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        with pytest.raises(urllib.error.URLError):
            post(f"http://127.0.0.1:{held.getsockname()[1]}", {}, threading.Event(), QUICK)


def test_at_the_end_there_is_no_other_try(receiver: Receiver) -> None:
    receiver.answers = [503] * 9
    ending = threading.Event()
    ending.set()
    with pytest.raises(urllib.error.HTTPError):
        post(receiver.url, {}, ending, (60.0,))
    assert receiver.tries == 1
