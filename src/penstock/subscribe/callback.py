"""A subscription that calls: a thread takes event after event and hands each to a function.

An exception of the function goes to `on_error`, and the next event follows; without `on_error`, or if that raises too,
the subscription ends. Events are handed over one after the other, in order. A function that raises KeyboardInterrupt
interrupts the main thread, as Ctrl-C does.
"""

from __future__ import annotations

import _thread
import logging
import threading
from collections.abc import Callable

from penstock.arguments import checked
from penstock.changes.wire.change_event import ChangeEvent
from penstock.subscribe.subscription import Subscription

_log = logging.getLogger("penstock.subscribe")


@checked
class CallbackSubscription:
    """A running callback; `cancel` ends it, `wait` waits for its end."""

    def __init__(
        self,
        subscription: Subscription,
        on_change: Callable[[ChangeEvent], object],
        on_error: Callable[[Exception], object] | None = None,
        on_complete: Callable[[], object] | None = None,
    ) -> None:
        self.subscription = subscription
        self._on_change, self._on_error, self._on_complete = on_change, on_error, on_complete
        self._thread = threading.Thread(target=self._run, name=f"penstock-{subscription.id}", daemon=True)
        self._thread.start()

    @property
    def is_active(self) -> bool:
        """True until it has ended."""
        return self._thread.is_alive()

    def cancel(self) -> None:
        """End it; the event under way is finished."""
        self.subscription.cancel()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end; False if it is not reached in time."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            for event in self.subscription:
                if not self._call(event):
                    break
        except Exception as error:
            self._report(error)
        except KeyboardInterrupt:
            _thread.interrupt_main()
        finally:
            self.subscription.cancel()
            self._complete()

    def _complete(self) -> None:
        try:
            if self._on_complete is not None:
                self._on_complete()
        except Exception:
            _log.exception("the last callback of %s failed", self.subscription.id)

    def _call(self, event: ChangeEvent) -> bool:
        try:
            self._on_change(event)
        except Exception as error:
            return self._report(error)
        return True

    def _report(self, error: Exception) -> bool:
        if self._on_error is None:
            _log.exception("the callback of %s failed, so its subscription ends", self.subscription.id, exc_info=error)
            return False
        try:
            self._on_error(error)
        except Exception:
            _log.exception("the error handler of %s failed, so its subscription ends", self.subscription.id)
            return False
        return True
