"""Asks over HTTP, or AWS by boto3, within limits and a budget, keeps every answer, and pays for none twice: transports,
when a call may go out, and tries again.
"""

from __future__ import annotations

import email.utils
import hashlib
import json
import logging
import re
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, final, runtime_checkable

from transect import __version__
from transect.errors import BadInput, BudgetSpent, Interrupted, MissingExtra
from transect.records import Quote
from transect.targets.http.answers import provider_words
from transect.targets.http.ledger import (
    NANO,
    NO_TOKENS,
    Allowance,
    Call,
    Ledger,
    Reply,
    Spent,
    Tokens,
    Unconfirmed,
    UnderWay,
)
from transect.targets.http.settings import Limits, Secrets, is_loopback

if TYPE_CHECKING:
    from tenacity import RetryCallState


@final
class Pacer:
    """Spaces calls evenly, at most `rate` a second (None: no limit); a server's wish to wait holds for all threads."""

    def __init__(self, rate: float | None) -> None:
        self._gap = 1 / rate if rate else 0.0
        self._lock = threading.Lock()
        self._next = self._paused_until = 0.0

    def wait(self) -> None:
        """Return when this thread's call may go out."""
        with self._lock:
            turn = max(time.monotonic(), self._next, self._paused_until)
            self._next = turn + self._gap
        while (left := max(turn, self._paused_until) - time.monotonic()) > 0:
            time.sleep(left)

    def pause(self, seconds: float) -> None:
        """Let no call out for that many seconds."""
        with self._lock:
            self._paused_until = max(self._paused_until, time.monotonic() + seconds)


def retry_after(header: str) -> float | None:
    """Seconds that a Retry-After header asks for (a number, or a date); None where it says nothing.

    >>> retry_after("7"), retry_after("soon"), retry_after("Mon, 01 Jan 2001 00:00:00 GMT")
    (7.0, None, 0.0)
    """
    text = header.strip()
    if text.isascii() and text.isdecimal():
        return float(text)
    try:
        moment = email.utils.parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0.0, moment - time.time())


MEGABYTE = 1_000_000
_WRITTEN_AT_ONCE = 16_384
"""Bytes: what a socket takes in one step once it takes any, so that the deadline is seen between steps."""


@final
class CallFailed(Exception):
    """Nothing usable came back. retryable: another try has sense. sent: the request may have arrived."""

    def __init__(self, reason: str, *, retryable: bool, sent: bool) -> None:
        super().__init__(reason)
        self.reason, self.retryable, self.sent = reason, retryable, sent


@final
@dataclass(frozen=True, slots=True)
class Message:
    """One request, complete with its secrets: never shown, kept or put into an exception."""

    method: str
    url: str
    headers: Mapping[str, str]
    query: Mapping[str, str]
    content: bytes | None = None
    json: Any = None
    files: Mapping[str, tuple[str, bytes, str]] | None = None
    data: Mapping[str, str] | None = None

    def __repr__(self) -> str:
        return f"Message({self.method})"


@runtime_checkable
class Transport(Protocol):
    """What sends a message."""

    def send(self, message: Message) -> Reply:
        """The reply, whatever its status. Raises CallFailed where there is none."""

    def close(self) -> None:
        """Let go of its connections."""


@final
class HttpTransport:
    """Sends over HTTP with httpx2; a new connection for each call, safe to share between threads."""

    def __init__(self, url: str, limits: Limits) -> None:
        try:
            import httpx2
        except ModuleNotFoundError:
            raise MissingExtra("http", "an HTTP target") from None
        self._errors, self._deadline = httpx2, _Deadline()
        silence("httpx2", "httpcore2")
        self._seconds, self._largest = limits.timeout, int(limits.largest_answer * MEGABYTE)
        # A connection for each call: bytes behind an answer would be taken for the answer about the next image.
        pool = httpx2.Limits(max_connections=limits.concurrency, max_keepalive_connections=0)
        self._client = httpx2.Client(
            timeout=httpx2.Timeout(limits.timeout),
            limits=pool,
            follow_redirects=False,
            trust_env=not is_loopback(url),
            headers={"User-Agent": f"transect/{__version__}", "Accept-Encoding": "identity"},
        )

    def send(self, message: Message) -> Reply:
        """The reply, whatever its status; its body ends at the largest answer. Raises CallFailed where there is none.

        It is over within the timeout, however slowly bytes come. What timed out is not tried again: it may be paid for.
        """
        errors = self._errors
        try:
            return self._send(message)
        except (errors.ConnectError, errors.ConnectTimeout, errors.PoolTimeout, errors.ProxyError) as error:
            if _is_tls(error):
                raise CallFailed("TLS: the certificate was rejected", retryable=False, sent=False) from None
            raise CallFailed(
                "no connection: start the server, or correct its address", retryable=True, sent=False
            ) from None
        except errors.TimeoutException:
            raise CallFailed(f"timed out after {self._seconds:g} s", retryable=False, sent=True) from None
        except (errors.NetworkError, errors.RemoteProtocolError):
            raise CallFailed("connection dropped", retryable=True, sent=True) from None
        except errors.DecodingError:
            raise CallFailed("an answer with a broken encoding", retryable=False, sent=True) from None
        except (errors.HTTPError, errors.InvalidURL, ValueError, UnicodeError) as error:
            # The message of these may hold the address or a header.
            raise CallFailed(f"not a valid request ({type(error).__name__})", retryable=False, sent=False) from None

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def _send(self, message: Message) -> Reply:
        self._deadline.set(self._seconds)
        options = {"content": message.content, "json": message.json, "files": message.files, "data": message.data}
        arguments = {key: value for key, value in options.items() if value is not None}
        if message.query:
            arguments["params"] = message.query
        arguments |= {"headers": dict(message.headers), "extensions": {"trace": self._deadline.trace}}
        with self._client.stream(message.method, message.url, **arguments) as response:
            body = bytearray()
            reason = ""
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > self._largest:
                    reason = f"an answer larger than {self._largest / MEGABYTE:g} MB"
                    break
            headers = response.headers
            content_type, wait = headers.get("content-type", ""), headers.get("retry-after", "")
            return Reply(response.status_code, content_type, bytes(body[: self._largest]), reason, wait)


@final
class _Deadline:
    """Bounds a call as a whole, of which each thread makes one at a time, through the hook for extensions of requests.

    HTTP libraries' timeouts are between bytes: who sends one now and then holds a call for as long as they like.
    """

    def __init__(self) -> None:
        self._of_thread = threading.local()

    def set(self, seconds: float) -> None:
        """Begin a call of this thread that may take so long."""
        self._of_thread.until = time.monotonic() + seconds

    def trace(self, event: str, info: Mapping[str, object]) -> None:
        """Bound a connection that was just made, before and after TLS."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self._bound(info["return_value"])

    def _bound(self, stream: Any) -> None:
        import httpcore2

        read: Callable[[int, float | None], bytes] = stream.read
        write: Callable[[bytes, float | None], None] = stream.write

        def read_in_time(max_bytes: int, timeout: float | None = None) -> bytes:
            return read(max_bytes, self._left(timeout, httpcore2.ReadTimeout))

        def write_in_time(buffer: bytes, timeout: float | None = None) -> None:
            for start in range(0, len(buffer), _WRITTEN_AT_ONCE):
                part = buffer[start : start + _WRITTEN_AT_ONCE]
                write(part, self._left(timeout, httpcore2.WriteTimeout))

        stream.read, stream.write = read_in_time, write_in_time

    def _left(self, timeout: float | None, late: type[Exception]) -> float:
        left: float = self._of_thread.until - time.monotonic()
        if left <= 0:
            raise late("the call took too long")
        return left if timeout is None else min(left, timeout)


def silence(*libraries: str) -> None:
    """Let these libraries log warnings alone: their other lines hold addresses and headers, and so secrets."""
    for name in libraries:
        logging.getLogger(name).setLevel(logging.WARNING)


def _is_tls(error: BaseException) -> bool:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError) or "CERTIFICATE_VERIFY_FAILED" in str(cause):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


_RETRYABLE = (429, *range(500, 600))
_SET_UP_WRONG = (401, 402, 403, 404, 405, 407)
"""What says something about the account or the address, not about the image: never kept as an answer."""

UNCONFIRMED = (
    "unconfirmed: under way when a program was killed, and perhaps paid for; [answers] unconfirmed = 'ask' asks again"
)

_stopping = threading.Event()
_under_way: set[int] = set()


def is_stopping() -> bool:
    """Whether the program is about to end, so that nothing more is asked or waited for."""
    return _stopping.is_set()


def drain() -> None:
    """Let no further call out in this process, and wait for those under way, so that what was paid for is kept."""
    _stopping.set()
    while _under_way:
        time.sleep(0.02)


@final
class Asker:
    """Asks one target, safe between threads. used: tokens of a reply. passing: why another try has sense, or ""."""

    def __init__(
        self,
        store: Path,
        allowance: Allowance,
        limits: Limits,
        transport: Transport,
        secrets: Secrets,
        *,
        ask_unconfirmed: bool = False,
        used: Callable[[Reply], Tokens | None] = lambda _: None,
        passing: Callable[[Reply], str] = lambda _: "",
    ) -> None:
        try:
            import tenacity  # noqa: F401  (fails now rather than at the first call)
        except ModuleNotFoundError:
            raise MissingExtra("http", "a model behind a web address") from None
        self.store, self.allowance, self._limits = store, allowance, limits
        self._transport, self._secrets, self._ask_unconfirmed = transport, secrets, ask_unconfirmed
        self._used, self._passing = used, passing
        self._pacer = Pacer(limits.rate)
        self._slots = threading.BoundedSemaphore(limits.concurrency)
        self._opening = threading.Lock()
        self._opened: Ledger | None = None

    @property
    def ledger(self) -> Ledger:
        """The file of calls and answers, opened when it is first needed."""
        with self._opening:
            if self._opened is None:
                self._opened = Ledger(self.store, self.allowance, ask_unconfirmed=self._ask_unconfirmed)
            return self._opened

    @property
    def is_fresh(self) -> bool:
        """Whether nothing was ever asked: a question about prices or counts then makes no file."""
        return self._opened is None and not self.store.exists()

    @property
    def patience(self) -> float:
        """Seconds that one question may take at the longest, with waiting and further tries."""
        limits = self._limits
        gap = 1 / limits.rate if limits.rate else 0.0
        return limits.attempts * (self._longest_call + gap + limits.longest_wait)

    @property
    def _longest_call(self) -> float:
        return 2 * self._limits.timeout + 1

    def made(self) -> Spent:
        """What this process spent here."""
        return Spent(0, Decimal(0)) if self._opened is None else self._opened.made

    def quote(
        self, name: str, images: int, request: str, *, calls: int, tokens: Tokens = NO_TOKENS, asked: str = ""
    ) -> Quote:
        """The most that so many calls with these tokens cost without further tries. asked: what names the questions."""
        allowed, fresh = self.allowance, self.is_fresh
        spent = Spent(0, Decimal(0)) if fresh else self.ledger.spent()
        tokens = tokens if fresh else tokens.times(self.ledger.beyond())
        for_tokens = allowed.price(tokens) - allowed.price()
        store = hashlib.sha256(str(self.store.resolve()).encode()).hexdigest()
        return Quote(
            name,
            images,
            calls,
            float(allowed.per_call * calls + Decimal(for_tokens) / NANO),
            allowed.currency,
            answers_kept=0 if fresh else self.ledger.answered(request),
            calls_spent=spent.calls,
            money_spent=float(spent.money),
            calls_left=None if allowed.calls is None else max(0, allowed.calls - spent.calls),
            money_left=None if allowed.money is None else float(max(allowed.money - spent.money, Decimal(0))),
            answers_of=f"{store[:12]}-{(asked or request)[:12]}",
            tokens=tokens.total,
            tokens_left=None if allowed.tokens is None else max(0, allowed.tokens - spent.tokens),
        )

    def ask(
        self,
        request: str,
        image: str,
        make: Callable[[], Message],
        *,
        tokens: Tokens = NO_TOKENS,
        done: Callable[[], None] = lambda: None,
    ) -> Reply:
        """The final reply to a request about an image, from the file of answers or by calls. make: for each call."""
        known = self.ledger.find(request, image)
        if known is not None:
            return known
        from tenacity import Retrying, retry_if_exception, stop_after_attempt

        tries = Retrying(
            retry=retry_if_exception(lambda error: isinstance(error, _Wait)),
            stop=stop_after_attempt(self._limits.attempts),
            wait=self._pause,
            reraise=True,
        )
        try:
            return tries(self._try, request, image, make, tokens)
        except _Wait as error:
            reason = f"{error.reason} (tries: {self._limits.attempts})"
            raise CallFailed(reason, retryable=False, sent=True) from None
        finally:
            done()

    def claim(self, request: str, image: str, seconds: float, tokens: Tokens) -> Reply | Call | UnderWay | Unconfirmed:
        """A call that is entered and paid for, to be made within so many seconds, or why none is needed or allowed."""
        if _stopping.is_set():
            raise Interrupted("interrupted before this image was asked about")
        return self.ledger.claim(request, image, seconds=seconds, tokens=tokens)

    def keep(self, call: Call, reply: Reply) -> tuple[Reply, bool]:
        """Keep the reply to a call, cleared of secrets; returns it, and whether it is the final one."""
        # The reply without secrets, which the other side may have sent back.
        kind = self._secrets.redact_text(reply.content_type)[:200]
        body = self._secrets.redact_cut(reply.body) if reply.reason else self._secrets.redact(reply.body)
        reply = Reply(reply.status, kind, body, reply.reason, reply.retry_after)
        fault = self._passing(reply) or reply.status in (*_RETRYABLE, *_SET_UP_WRONG) or 300 <= reply.status < 400
        self.ledger.settle(call, reply, final=not fault, used=self._used(reply))
        return reply, not fault

    def close(self) -> None:
        """Close the file of answers and all connections."""
        self._transport.close()
        if self._opened is not None:
            self._opened.close()

    def _pause(self, state: RetryCallState) -> float:
        """A random share of a span that doubles each time (full jitter: Brooker 2015), or as long as was asked."""
        from tenacity import wait_random_exponential

        error = state.outcome.exception() if state.outcome else None
        wait = wait_random_exponential(self._limits.first_wait, self._limits.longest_wait)(state)
        return max(wait, error.wait) if isinstance(error, _Wait) else wait

    def _try(self, request: str, image: str, make: Callable[[], Message], tokens: Tokens) -> Reply:
        """One try: a call, or the answer that another thread or process got meanwhile."""
        while True:
            with self._slots:
                claimed = self._claim(request, image, tokens)
                if isinstance(claimed, Reply):
                    return claimed
                if isinstance(claimed, Unconfirmed):
                    raise CallFailed(UNCONFIRMED, retryable=False, sent=True)
                if isinstance(claimed, Call):
                    return self._call(claimed, make)
            time.sleep(0.02)  # it is under way elsewhere

    def _claim(self, request: str, image: str, tokens: Tokens) -> Reply | Call | UnderWay | Unconfirmed:
        if self.ledger.under_way(request, image):
            return UnderWay()  # without taking a turn
        self._pacer.wait()
        try:
            return self.claim(request, image, self._longest_call, tokens)
        except BudgetSpent:
            if self.ledger.may_be_given_back():
                return UnderWay()
            return self.claim(request, image, self._longest_call, tokens)  # it may have come back just now

    def _call(self, call: Call, make: Callable[[], Message]) -> Reply:
        _under_way.add(id(call))
        try:
            return self._settled(call, make)
        finally:
            _under_way.discard(id(call))

    def _settled(self, call: Call, make: Callable[[], Message]) -> Reply:
        try:
            reply = self._sent(make)
        except CallFailed as error:
            self.ledger.fail(call, error.reason, sent=error.sent)
            if error.retryable:
                raise _Wait(error.reason, 0.0) from None
            raise
        reply, final = self.keep(call, reply)
        if final:
            return reply
        passing = self._passing(reply)
        raise _Wait(passing, 0.0) if passing else self._fault(reply)

    def _sent(self, make: Callable[[], Message]) -> Reply:
        try:
            message = make()
        except Exception as error:
            reason = f"no request could be made ({type(error).__name__})"
            raise CallFailed(reason, retryable=False, sent=False) from None
        try:
            return self._transport.send(message)
        except CallFailed:
            raise
        except Exception as error:  # its text may hold what was sent
            raise CallFailed(f"sending failed ({type(error).__name__})", retryable=False, sent=True) from None

    def _fault(self, reply: Reply) -> Exception:
        if 300 <= reply.status < 400:
            return CallFailed(f"HTTP {reply.status}: redirects are not followed", retryable=False, sent=True)
        if reply.status not in _RETRYABLE:
            reason = f"not allowed: HTTP {reply.status}{provider_words(reply)}: check address and credentials"
            return CallFailed(reason, retryable=False, sent=True)
        wait, longest = retry_after(reply.retry_after) or 0.0, self._limits.longest_wait
        if wait > longest:
            reason = f"HTTP {reply.status}: the server asks to wait longer than {longest:g} s{provider_words(reply)}"
            return CallFailed(reason, retryable=False, sent=True)
        if wait:
            self._pacer.pause(wait)
        words = re.sub(r"\d[\d.,]*", "…", provider_words(reply))  # seconds and requests left, other each time
        return _Wait(f"HTTP {reply.status}{words}", wait)


@final
class _Wait(Exception):
    """Another try has sense, not before `wait` seconds."""

    def __init__(self, reason: str, wait: float) -> None:
        super().__init__(reason)
        self.reason, self.wait = reason, wait


_SLOW_DOWN: Final = {
    "ProvisionedThroughputExceededException", "ThrottlingException", "Throttling", "TooManyRequestsException",
    "ModelNotReadyException",
}  # fmt: skip
TOO_LONG: Final = "ContextTooLong"
"""Our own code of a fault whose text, which is not kept, says that the request is too long for the model."""
_SAYS_TOO_LONG: Final = re.compile(r"too long|too many (?:input )?tokens|context (?:length|window)", re.IGNORECASE)


@final
class AwsTransport:
    """A Transport to an operation of one service, safe between threads. endpoint: in place of Amazon's address."""

    def __init__(
        self,
        service: str,
        preset: str,
        operation: Callable[[object, Message], Mapping[str, object]],
        *,
        region: str,
        endpoint: str,
        limits: Limits,
    ) -> None:
        try:
            import boto3
            import botocore.config
            import botocore.exceptions
        except ModuleNotFoundError:
            raise MissingExtra("rekognition", f"the preset {preset}") from None
        silence("boto3", "botocore")
        self._errors: Any = botocore.exceptions
        self._operation, self._seconds = operation, limits.timeout
        config = botocore.config.Config(
            retries={"total_max_attempts": 1},
            connect_timeout=limits.timeout,
            read_timeout=limits.timeout,
            max_pool_connections=limits.concurrency,
        )
        try:
            self._client = boto3.client(
                service, region_name=region or None, endpoint_url=endpoint or None, config=config
            )
        except self._errors.BotoCoreError as error:
            raise BadInput(f"{preset}: {type(error).__name__}: set request.region or fix it") from None

    def send(self, message: Message) -> Reply:
        """What the operation answers, as JSON. Raises CallFailed where there is no reply."""
        errors = self._errors
        try:
            answer = self._operation(self._client, message)
            said = {key: value for key, value in answer.items() if key != "ResponseMetadata"}
            return Reply(200, "application/json", _as_json(said))
        except errors.ClientError as error:
            return _refusal(error.response)
        except errors.ParamValidationError:
            reason = "boto3 failed (ParamValidationError): check request.json"
            raise CallFailed(reason, retryable=False, sent=False) from None
        except (errors.EndpointConnectionError, errors.ConnectTimeoutError):
            raise CallFailed(
                "no connection: start the server, or correct its address", retryable=True, sent=False
            ) from None
        except errors.ReadTimeoutError:
            raise CallFailed(f"timed out after {self._seconds:g} s", retryable=False, sent=True) from None
        except errors.ConnectionClosedError:
            raise CallFailed("connection dropped", retryable=True, sent=True) from None
        except (errors.NoCredentialsError, errors.PartialCredentialsError):
            raise CallFailed("no AWS credentials: set AWS_ACCESS_KEY_ID", retryable=False, sent=False) from None
        except errors.BotoCoreError as error:
            raise CallFailed(f"boto3 failed ({type(error).__name__})", retryable=False, sent=True) from None

    def close(self) -> None:
        """Close all connections."""
        self._client.close()


def _refusal(response: Any) -> Reply:
    """The fault's code alone: its text may name an account."""
    error = response.get("Error", {})
    code = str(error.get("Code", ""))
    metadata = response.get("ResponseMetadata", {})
    status = 429 if code in _SLOW_DOWN else int(metadata.get("HTTPStatusCode", 500))
    wait = str(metadata.get("HTTPHeaders", {}).get("retry-after", ""))
    if code == "ValidationException" and _SAYS_TOO_LONG.search(str(error.get("Message", ""))):
        code = TOO_LONG
    return Reply(status, "application/json", _as_json({"error": {"code": code}}), retry_after=wait)


def _as_json(content: object) -> bytes:
    return json.dumps(content, sort_keys=True, default=str).encode()
