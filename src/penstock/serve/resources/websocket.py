"""`/tables/{name}/ws`: a stream table's changes over a WebSocket; every message is a JSON object with a `type`.

    to the client      subscribed {table, lsn} · data {lsn, events} · snapshot {lsn, first, last, rows}
                       watermark {lsn, ts_ms} · heartbeat {lsn} · dropped {events, total} · paused, resumed {lsn}
                       acknowledged {lsn} · error {error} · closed {lsn, reason}
    from the client    pause · resume · ack {lsn} · close

A paused client receives nothing; after `resume` the server reads from the log what it missed. With `durable=NAME` a
client that connects again begins after the position that it acknowledged last. The server answers a message that it
does not understand with an error, and the stream goes on.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from penstock.changes.wire.event_json import FORMS
from penstock.errors import InternalError, InvalidValue, PenstockError, ServerStopping
from penstock.serve.context import Context
from penstock.serve.http.answer import error_json, refusal
from penstock.serve.http.operation import COLUMNS, FORMAT, POLICY, START, TOKEN, WHERE, Operation, Parameter
from penstock.serve.http.query import CHOOSING, STARTING, Query
from penstock.serve.streams.choice import Choice
from penstock.serve.streams.reader import SLOW_POLICIES, Reader

GOING_AWAY: Final = 1001
FAILED: Final = 1011
COMMANDS: Final = ("pause", "resume", "ack", "close")
OPERATIONS: Final = {
    "/tables/{name}/ws": Operation(
        "The changes of a stream table over a WebSocket; the answer to a GET with an Upgrade header.",
        (
            *START,
            WHERE,
            COLUMNS,
            FORMAT,
            POLICY,
            TOKEN,
            Parameter("durable", "A name under which acknowledged positions are kept."),
        ),
    )
}


class Messages:
    """JSON objects as text messages."""

    name = "messages"

    def changes(self, lsns: Sequence[int], bodies: Sequence[bytes]) -> bytes:
        """Events together."""
        return b'{"type":"data","lsn":%d,"events":[%b]}' % (lsns[-1], b",".join(bodies))

    def snapshot(self, lsn: int, rows: Sequence[bytes], *, first: bool, last: bool) -> bytes:
        """One part."""
        return message("snapshot", lsn=lsn, first=first, last=last)[:-1] + b',"rows":[%b]}' % b",".join(rows)

    def watermark(self, lsn: int, ts_ms: int | None) -> bytes:
        """A moment."""
        return message("watermark", lsn=lsn, ts_ms=ts_ms)

    def heartbeat(self, lsn: int) -> bytes:
        """Still there."""
        return message("heartbeat", lsn=lsn)


MESSAGES: Final = Messages()


def message(kind: str, **facts: Any) -> bytes:
    """One message."""
    return json.dumps({"type": kind, **facts}, ensure_ascii=False, separators=(",", ":")).encode()


def routes(context: Context) -> list[WebSocketRoute]:
    """The routes."""

    async def stream(socket: WebSocket) -> None:
        """Changes over a WebSocket."""
        try:
            reader = await _open_reader(context, socket)
        except PenstockError as error:
            await socket.send_denial_response(refusal(error))
            return
        async with reader:
            await socket.accept()
            await _Conversation(socket, reader).run()

    return [WebSocketRoute("/tables/{name}/ws", stream)]


async def _open_reader(context: Context, socket: WebSocket) -> Reader:
    name = context.table(socket, in_address=True)
    query = Query(socket, (*STARTING, *CHOOSING, "format", "policy", "durable"))
    choice = Choice(name, MESSAGES, query.one_of("format", FORMS, "json"), query.text("where"), query.columns())
    policy = query.one_of("policy", SLOW_POLICIES, "block")
    durable = query.text("durable")
    if durable is not None and not context.access.is_open:
        # Each client has names of its own.
        durable = f"{context.access.of(socket, in_address=True).name}:{durable}"
    return await Reader.open(context.broadcasts, choice, query.start(), policy, durable)


class _Conversation:
    """Both directions of one connection."""

    def __init__(self, socket: WebSocket, reader: Reader) -> None:
        self._socket, self._reader = socket, reader
        self._going = asyncio.Event()
        self._going.set()
        self._turn = asyncio.Lock()

    async def run(self) -> None:
        """Serve the connection until the client or the server ends it."""
        with suppress(WebSocketDisconnect):
            await self._send(message("subscribed", table=self._reader.table, lsn=self._reader.position))
            sending, receiving = asyncio.create_task(self._send_pieces()), asyncio.create_task(self._receive())
            try:
                done, _ = await asyncio.wait({sending, receiving}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (sending, receiving):
                    task.cancel()
                await asyncio.gather(sending, receiving, return_exceptions=True)
            await self._end(next(iter(done)))

    async def _end(self, ended: asyncio.Task[None]) -> None:
        error = ended.exception()
        if isinstance(error, WebSocketDisconnect):
            return
        if error is None or isinstance(error, ServerStopping):
            why = "the server stops" if error is not None else "the client asked for it"
            await self._send(message("closed", lsn=self._reader.sent, reason=why))
            await self._socket.close(1000 if error is None else GOING_AWAY)
            return
        known = error if isinstance(error, PenstockError) else InternalError(why=type(error).__name__)
        await self._send(message("error", error=error_json(known), lsn=self._reader.sent))
        await self._socket.close(FAILED)

    async def _send_pieces(self) -> None:
        dropped = 0
        async for pieces in self._reader.pieces():
            if self._reader.dropped > dropped:
                await self._send(message("dropped", events=self._reader.dropped - dropped, total=self._reader.dropped))
                dropped = self._reader.dropped
            for piece in pieces:
                await self._going.wait()
                async with self._turn:
                    await self._socket.send_text(piece.data.decode())
                    self._reader.note(piece)

    async def _receive(self) -> None:
        while True:
            received = await self._socket.receive()
            if received["type"] == "websocket.disconnect":
                raise WebSocketDisconnect(received.get("code") or 1000)
            try:
                text = received.get("text") or (received.get("bytes") or b"").decode(errors="replace")
                if not await self._execute(text):
                    return
            except PenstockError as error:
                await self._send(message("error", error=error_json(error)))

    async def _execute(self, text: str) -> bool:
        """Execute a command of the client; False if it closes the stream."""
        try:
            command = json.loads(text)
            kind = command.get("type")
        except (ValueError, AttributeError, RecursionError):
            raise InvalidValue(what="message", value=text[:100], allowed='a JSON object with a "type"') from None
        match kind:
            case "pause":
                self._going.clear()
                await self._send(message("paused", lsn=self._reader.sent))
            case "resume":
                await self._send(message("resumed", lsn=self._reader.sent))
                self._going.set()
            case "ack":
                lsn = command.get("lsn")
                if type(lsn) is not int:
                    raise InvalidValue(what="lsn", value=lsn, allowed="the position up to which all was taken over")
                async with self._turn:
                    # A piece on its way counts as sent only after it has left.
                    await self._reader.acknowledge(lsn)
                await self._send(message("acknowledged", lsn=lsn))
            case "close":
                return False
            case _:
                raise InvalidValue(what="type", value=kind, allowed=", ".join(COMMANDS))
        return True

    async def _send(self, data: bytes) -> None:
        async with self._turn:
            await self._socket.send_text(data.decode())
