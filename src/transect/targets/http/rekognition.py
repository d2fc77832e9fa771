"""Amazon Rekognition's DetectFaces, sent by boto3."""

from __future__ import annotations

from typing import final

from transect.targets.http.aws import AwsService, check_installed
from transect.targets.http.ledger import Reply
from transect.targets.http.presets import REKOGNITION
from transect.targets.http.settings import Settings
from transect.targets.http.transport import Message


@final
class RekognitionTransport:
    """Sends images to DetectFaces; safe to share between threads. Raises MissingExtra without boto3."""

    def __init__(self, settings: Settings) -> None:
        check_installed(REKOGNITION)
        request = settings.request
        self._service = AwsService(
            "rekognition", REKOGNITION, region=request.region, endpoint=request.url, limits=settings.limits
        )

    def send(self, message: Message) -> Reply:
        """DetectFaces with all attributes, as JSON. Raises CallFailed where there is no reply."""
        return self._service.call(
            lambda client: client.detect_faces(Image={"Bytes": message.content}, Attributes=["ALL"])
        )

    def close(self) -> None:
        """Close all connections."""
        self._service.close()
