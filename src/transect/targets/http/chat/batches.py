"""Questions handed over in batches: answered within hours, at the provider's price for batches.

Each question is entered in the file of answers before its batch is handed over, and holds its part of the budget
until its answer is collected. A run that was stopped collects the batches that it left when it is started again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, final

from transect.errors import AnswersUnusable, BudgetSpent, Interrupted
from transect.targets.http.asking import UNCONFIRMED, Asker, CallFailed, HttpTransport, Message, is_stopping
from transect.targets.http.chat.interfaces import BatchInterface, passing
from transect.targets.http.chat.settings import ChatBatch, ChatSettings
from transect.targets.http.ledger import Call, Reply, Tokens, Unconfirmed, UnderWay
from transect.targets.http.settings import Limits, Secrets
from transect.texts import whole_number

_LARGEST: Final = 2000.0
"""Megabytes of a file of answers."""
_HOUR: Final = 3600.0
_FAULT, _BUSY, _SERVER_FAULT = 400, 429, 500

Answer = Reply | str
"""The final reply to a question, or why there is none."""


@final
@dataclass(frozen=True, slots=True)
class Asked:
    """One question: what names it in the file of answers, the most tokens that it takes, and its request."""

    key: str
    tokens: Tokens
    make: Callable[[], Message]


@final
class Batcher:
    """Asks one model in batches. Raises BudgetSpent, AnswersUnusable and Interrupted, and keeps what was collected."""

    def __init__(
        self, asker: Asker, interface: BatchInterface, settings: ChatSettings, request: str, secrets: Secrets
    ) -> None:
        self._asker, self._interface, self._batch = asker, interface, settings.batch or ChatBatch()
        self._request, self._secrets, self._limits = request, secrets, settings.limits
        limits = Limits(timeout=settings.limits.timeout, largest_answer=_LARGEST)
        self._transport = HttpTransport(settings.request.url, limits)
        self._failed: dict[str, str] = {}
        self._keys: dict[int, str] = {}

    def ask(self, asked: Sequence[Asked]) -> list[Answer]:
        """The answers, in order; for a question without one the reason."""
        self._collect()
        waiting = list({one.key: one for one in asked if self._find(one) is None}.values())
        while waiting:
            waiting = self._hand_over(waiting)
            self._collect()
        return [self._find(one) or self._failed.get(one.key, "batch: no answer came back") for one in asked]

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def _find(self, asked: Asked) -> Reply | None:
        return self._asker.ledger.find(self._request, asked.key)

    def _hand_over(self, waiting: list[Asked]) -> list[Asked]:
        """Hand over as many batches as the budget allows; returns the questions that are left."""
        while waiting:
            entered, taken, is_spent = self._enter(waiting)
            waiting = waiting[taken:]
            if entered:
                self._start(entered)
            if is_spent:  # what the batches hold must come back first
                break
        return waiting

    def _enter(self, waiting: Sequence[Asked]) -> tuple[list[tuple[Asked, Call, Message]], int, bool]:
        """Enter the calls of one batch; how many questions were dealt with, and whether the budget ended it."""
        entered: list[tuple[Asked, Call, Message]] = []
        size = taken = 0
        for one in waiting[: self._batch.size]:
            message = one.make()
            size += len(json.dumps(message.json))
            if entered and size > self._interface.most_bytes:
                break
            try:
                claimed = self._asker.claim(self._request, one.key, self._batch.hours * _HOUR, one.tokens)
            except BudgetSpent:
                if not entered and not self._asker.ledger.batches(self._request):
                    raise
                return entered, taken, True
            taken += 1
            if isinstance(claimed, Call):
                entered.append((one, claimed, message))
            elif isinstance(claimed, Unconfirmed):
                self._failed[one.key] = UNCONFIRMED
            elif isinstance(claimed, UnderWay):
                self._failed[one.key] = "batch: asked by another program just now"
        return entered, taken, False

    def _start(self, entered: Sequence[tuple[Asked, Call, Message]]) -> None:
        self._keys |= {call.id: one.key for one, call, _ in entered}
        try:
            name = self._interface.start([(str(call.id), message) for _, call, message in entered], self._send)
        except CallFailed as error:
            for _, call, _ in entered:
                self._drop(call, f"batch: {error.reason}", sent=error.sent)
            return
        calls = [call for _, call, _ in entered]
        self._asker.ledger.add_batch(self._request, name, calls, seconds=self._batch.hours * _HOUR)

    def _collect(self) -> None:
        """Wait for all batches that were handed over, by this program or one before it, and keep their answers."""
        for name in self._asker.ledger.batches(self._request):
            until = time.monotonic() + self._batch.hours * _HOUR
            try:
                while not self._interface.is_done(name, self._send_again) and time.monotonic() < until:
                    self._pause()
                self._keep(name)
            except CallFailed as error:
                advice = "run the same command again to collect it"
                raise AnswersUnusable(f"batch {name}: cannot be collected ({error.reason}): {advice}") from None

    def _keep(self, name: str) -> None:
        calls = self._asker.ledger.calls_of(name)
        for number, outcome in self._interface.outcomes(name, self._send_again):
            place = whole_number(number)
            call = None if place is None else calls.pop(place, None)
            if call is None:
                continue
            if isinstance(outcome, Reply):
                self._keep_reply(call, outcome)
            else:
                self._drop(call, outcome, sent=False)
        for call in calls.values():
            self._drop(call, "batch: no answer came back", sent=True)
        self._asker.ledger.drop_batch(name)

    def _keep_reply(self, call: Call, reply: Reply) -> None:
        reply, final = self._asker.keep(call, reply)
        if not final:
            self._say(call, f"batch: {passing(reply) or f'HTTP {reply.status}'}")

    def _drop(self, call: Call, reason: str, *, sent: bool) -> None:
        self._asker.ledger.fail(call, reason, sent=sent)
        self._say(call, reason)

    def _say(self, call: Call, reason: str) -> None:
        if key := self._keys.get(call.id):
            self._failed[key] = reason

    def _pause(self) -> None:
        end = time.monotonic() + self._batch.poll
        while time.monotonic() < end:
            if is_stopping():
                raise Interrupted("interrupted while a batch is under way: run the same command again to collect it")
            time.sleep(min(0.2, self._batch.poll))

    def _send(self, message: Message) -> bytes:
        """The body of a good reply. Raises CallFailed for any other."""
        reply = self._transport.send(message)
        if reply.reason:
            raise CallFailed(reply.reason, retryable=False, sent=True)
        if reply.status >= _FAULT:
            server = reply.status >= _SERVER_FAULT
            raise CallFailed(f"HTTP {reply.status}", retryable=server or reply.status == _BUSY, sent=server)
        return self._secrets.redact(reply.body)

    def _send_again(self, message: Message) -> bytes:
        """The same of a request that changes nothing, tried again while it passes."""
        for attempt in range(self._limits.attempts - 1):
            try:
                return self._send(message)
            except CallFailed as error:
                if not error.retryable:
                    raise
                time.sleep(min(self._limits.longest_wait, self._limits.first_wait * 2**attempt))
        return self._send(message)
