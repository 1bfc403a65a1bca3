"""Objects of S3 (``s3://bucket/key``, ``s3://bucket/folder/``), streamed, with the credentials that boto3 finds."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol, TypeVar, cast
from urllib.parse import quote

from hlgraph.errors import MissingExtraError, ReadError

SCHEME = "s3://"
_TIMES = 3  # that a stream may break off and is taken up again
_Result = TypeVar("_Result")
_log = logging.getLogger(__name__)

# What AWS calls it, what it means, and the mend. A status alone is what an answer without a body has.
_CODES: Mapping[str, tuple[str, str]] = {
    "NoSuchBucket": ("there is no such bucket", "check its name and the account"),
    "NoSuchKey": ("there is no such object", "check the key; for all objects under it write a / at its end"),
    "404": ("there is no such object", "check the key; for all objects under it write a / at its end"),
    "AccessDenied": ("access is denied", "the credentials need s3:GetObject for objects and s3:ListBucket for folders"),
    "403": ("access is denied", "the credentials need s3:GetObject for objects and s3:ListBucket for folders"),
    "InvalidAccessKeyId": ("the credentials are refused", "check AWS_PROFILE or AWS_ACCESS_KEY_ID"),
    "SignatureDoesNotMatch": ("the credentials are refused", "check AWS_SECRET_ACCESS_KEY"),
    "ExpiredToken": ("the credentials have expired", "sign in again"),
    "PermanentRedirect": ("the bucket is in another region", "set AWS_REGION to it"),
    "301": ("the bucket is in another region", "set AWS_REGION to it"),
    "InvalidObjectState": ("the object is archived", "restore it first"),
    "SlowDown": ("S3 asks to slow down", "try again later"),
    "PreconditionFailed": ("the object was changed while it was read", "read it again"),
    "InvalidBucketName": ("this is no name of a bucket", "write s3://bucket/key"),
}


class _Body(Protocol):
    def read(self, amount: int) -> bytes: ...
    def close(self) -> None: ...


class _Client(Protocol):
    """The client ``s3`` of boto3, as far as it is used here."""

    def get_object(self, **request: str) -> Mapping[str, object]: ...
    def list_objects_v2(self, **request: str) -> Mapping[str, object]: ...


class Place(NamedTuple):
    """A bucket and a key in it, or the beginning of keys."""

    bucket: str
    key: str

    @property
    def uri(self) -> str:
        """The name under which it is stored; percent-encoded, since # begins the id of a row."""
        return f"{SCHEME}{self.bucket}/{quote(self.key)}"

    @property
    def is_folder(self) -> bool:
        """Whether it stands for all that lies under it."""
        return not self.key or self.key.endswith("/")


@dataclass(frozen=True, slots=True)
class S3Object:
    """One object, and the client that reads it."""

    place: Place
    client: _Client

    @contextmanager
    def opened(self) -> Iterator[io.BufferedReader]:
        """Its bytes, streamed; a stream that breaks off is taken up again where it broke. Raises ReadError."""
        raw: io.BufferedReader = io.BufferedReader(cast("io.RawIOBase", _Stream(self)))
        with raw:
            yield raw


def place_of(path: str) -> Place:
    """Bucket and key of a path.

    Examples
    --------
    >>> place_of("s3://library/2024/a b#1.md").uri
    's3://library/2024/a%20b%231.md'
    """
    bucket, _, key = path.removeprefix(SCHEME).partition("/")
    return Place(bucket, key)


def objects(path: str) -> Iterator[S3Object]:
    """The object of a path, or all objects under a path that ends in ``/``, by key, without the marks of folders.

    Raises
    ------
    MissingExtraError : boto3 is not installed
    ReadError : the folder cannot be listed
    """
    place = place_of(path)
    if not place.bucket:
        raise ReadError(path, "names no bucket", "write s3://bucket/key, or s3://bucket/folder/")
    client = _client(place)
    if not place.is_folder:
        yield S3Object(place, client)
        return
    token: dict[str, str] = {}
    while True:
        request = {"Bucket": place.bucket, "Prefix": place.key, **token}
        page = _mapped(place, partial(client.list_objects_v2, **request))
        for item in cast("list[Mapping[str, str]]", page.get("Contents", [])):
            if not item["Key"].endswith("/"):
                yield S3Object(Place(place.bucket, item["Key"]), client)
        if not page.get("IsTruncated"):
            return
        token = {"ContinuationToken": str(page["NextContinuationToken"])}


def _client(place: Place) -> _Client:
    try:
        import boto3
    except ImportError as error:
        raise MissingExtraError("aws", "reading from S3") from error
    client: _Client = _mapped(
        place, lambda: boto3.session.Session().client("s3")
    )  # the default one keeps old credentials
    return client


def _mapped(place: Place, action: Callable[[], _Result]) -> _Result:
    """What ``action`` gives; an error of boto3 becomes a ReadError."""
    from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, PartialCredentialsError

    try:
        return action()
    except ClientError as error:
        found = error.response.get("Error", {})
        code = str(found.get("Code", ""))
        reason, mend = _CODES.get(code, (f"S3 answers {code} ({found.get('Message', '')})", "see the words of S3"))
        raise ReadError(place.uri, reason, mend) from error
    except (NoCredentialsError, PartialCredentialsError) as error:
        mend = "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or sign in"
        raise ReadError(place.uri, "no AWS credentials were found", mend) from error
    except BotoCoreError as error:
        raise ReadError(
            place.uri, f"S3 cannot be reached or asked ({error})", "check the name and the network"
        ) from error


class _Stream(io.RawIOBase):
    """The bytes of an object; asks for the rest of it when the connection breaks."""

    def __init__(self, item: S3Object) -> None:
        self._item = item
        self._at = 0
        self._breaks = 0
        self._etag = ""
        self._body = self._get()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray, /) -> int:  # type: ignore[override]  # Buffer is Python 3.12
        """Fill the buffer with the next bytes; 0 at the end."""
        from botocore.exceptions import BotoCoreError

        room = memoryview(buffer)
        while True:
            try:
                data = self._body.read(len(room))
                break
            except BotoCoreError as error:
                self._breaks += 1
                if self._breaks > _TIMES:
                    reason = (
                        f"the connection broke {self._breaks} times, the last time after {self._at:,} bytes ({error})"
                    )
                    raise ReadError(self._item.place.uri, reason, "read it again") from error
                _log.info("%s: taken up again at byte %d (%s)", self._item.place.uri, self._at, error)
                self._body.close()
                self._body = self._get()
        room[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._body.close()
        super().close()

    def _get(self) -> _Body:
        place = self._item.place
        request = {"Bucket": place.bucket, "Key": place.key}
        if self._at:  # the rest of the same object, not of one that took its place
            request |= {"Range": f"bytes={self._at}-", "IfMatch": self._etag}
        found = _mapped(place, lambda: self._item.client.get_object(**request))
        self._etag = str(found.get("ETag", ""))
        return cast("_Body", found["Body"])
