"""Amazon Rekognition's DetectFaces, sent by boto3: it signs requests with credentials from its chain.

boto3's own retries are off, so that every call passes the budget. `timeout` bounds connecting and each wait for bytes,
as boto3 has no bound of a whole call: a server that drips its answer holds a call for longer than that, where the other
presets are cut off.
"""

from __future__ import annotations

import json
from typing import Any, final

from transect.errors import BadInput, MissingExtra
from transect.targets.http.ledger import Reply
from transect.targets.http.settings import Settings
from transect.targets.http.transport import CallFailed, Message, silence

_SLOW_DOWN = {"ProvisionedThroughputExceededException", "ThrottlingException", "Throttling", "TooManyRequestsException"}


@final
class RekognitionTransport:
    """Sends images to DetectFaces; safe to share between threads. Raises MissingExtra without boto3."""

    def __init__(self, settings: Settings) -> None:
        try:
            import boto3
            import botocore.config
            import botocore.exceptions
        except ModuleNotFoundError:
            raise MissingExtra("rekognition", "the preset rekognition-detect-faces") from None
        silence("boto3", "botocore")
        self._errors: Any = botocore.exceptions
        self._seconds = settings.limits.timeout
        config = botocore.config.Config(
            retries={"total_max_attempts": 1},
            connect_timeout=settings.limits.timeout,
            read_timeout=settings.limits.timeout,
            max_pool_connections=settings.limits.concurrency,
        )
        try:
            self._client = boto3.client(
                "rekognition",
                region_name=settings.request.region or None,
                endpoint_url=settings.request.url or None,
                config=config,
            )
        except self._errors.BotoCoreError as error:
            raise BadInput(f"rekognition-detect-faces: {type(error).__name__}: set request.region or fix it") from None

    def send(self, message: Message) -> Reply:
        """DetectFaces with all attributes, as JSON. Raises CallFailed where there is no reply."""
        errors = self._errors
        try:
            answer = self._client.detect_faces(Image={"Bytes": message.content}, Attributes=["ALL"])
            return Reply(200, "application/json", _json({k: v for k, v in answer.items() if k != "ResponseMetadata"}))
        except errors.ClientError as error:
            return _refusal(error.response)
        except (errors.EndpointConnectionError, errors.ConnectTimeoutError):
            raise CallFailed("no connection", retryable=True, sent=False) from None
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
    code = str(response.get("Error", {}).get("Code", ""))
    metadata = response.get("ResponseMetadata", {})
    status = 429 if code in _SLOW_DOWN else int(metadata.get("HTTPStatusCode", 500))
    wait = str(metadata.get("HTTPHeaders", {}).get("retry-after", ""))
    return Reply(status, "application/json", _json({"error": {"code": code}}), retry_after=wait)


def _json(content: object) -> bytes:
    return json.dumps(content, sort_keys=True).encode()
