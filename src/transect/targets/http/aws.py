"""AWS services as a transport, called by boto3: signing, retries and faults."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, final

from transect.errors import BadInput, MissingExtra
from transect.targets.http.asking import CallFailed, Message, silence
from transect.targets.http.ledger import Reply
from transect.targets.http.settings import Limits

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
        operation: Callable[[Any, Message], Mapping[str, Any]],
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
            return Reply(200, "application/json", _json({k: v for k, v in answer.items() if k != "ResponseMetadata"}))
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
    return Reply(status, "application/json", _json({"error": {"code": code}}), retry_after=wait)


def _json(content: object) -> bytes:
    return json.dumps(content, sort_keys=True, default=str).encode()
