"""Streams S3 objects (``s3://bucket/key``, ``s3://bucket/folder/``) with boto3 and its credentials."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar, cast
from urllib.parse import quote

from hlgraph.errors import ReadError, needs_extra
from hlgraph.text import groups_of

SCHEME = "s3://"
_MAX_BREAKS = 3  # how often a broken stream is resumed
_Result = TypeVar("_Result")
_log = logging.getLogger(__name__)

# Error code of AWS to its meaning and the remedy. A response without a body has only its HTTP status as code.
_CODES: Mapping[str, tuple[str, str]] = {
    "NoSuchBucket": ("there is no such bucket", "check its name and the account"),
    "NoSuchKey": ("there is no such object", "check the key; to read all objects under it, end it with /"),
    "404": ("there is no such object", "check the key; to read all objects under it, end it with /"),
    "AccessDenied": ("access is denied", "the credentials need s3:GetObject for objects and s3:ListBucket for folders"),
    "403": ("access is denied", "the credentials need s3:GetObject for objects and s3:ListBucket for folders"),
    "InvalidAccessKeyId": ("the credentials are refused", "check AWS_PROFILE or AWS_ACCESS_KEY_ID"),
    "SignatureDoesNotMatch": ("the credentials are refused", "check AWS_SECRET_ACCESS_KEY"),
    "ExpiredToken": ("the credentials have expired", "sign in again"),
    "PermanentRedirect": ("the bucket is in another region", "set AWS_REGION to that region"),
    "301": ("the bucket is in another region", "set AWS_REGION to that region"),
    "InvalidObjectState": ("the object is archived", "restore it first"),
    "SlowDown": ("S3 asks to slow down", "try again later"),
    "PreconditionFailed": ("the object was changed while it was read", "read it again"),
    "InvalidBucketName": ("this is not a valid bucket name", "write s3://bucket/key"),
}


_DENIED = ("AccessDenied", "403")


class Place(NamedTuple):
    """A bucket, and a key in it or a prefix of keys."""

    bucket: str
    key: str

    @property
    def uri(self) -> str:
        """The URI under which it is stored; the key is percent-encoded, since # begins the id of a row."""
        return f"{SCHEME}{self.bucket}/{quote(self.key)}"

    @property
    def path(self) -> str:
        """The path that names it: its key as it is."""
        return f"{SCHEME}{self.bucket}/{self.key}"

    @property
    def is_folder(self) -> bool:
        """Whether it names all objects under a prefix: the key is empty or ends in ``/``."""
        return not self.key or self.key.endswith("/")


@dataclass(frozen=True, slots=True)
class S3Object:
    """One S3 object and the client that reads it; ``etag`` identifies its content, if it was listed."""

    place: Place
    client: Any
    etag: str = ""

    def groups(self, tag: str) -> tuple[str, ...]:
        """The groups in a tag of the object, which spaces separate. One request.

        Parameters
        ----------
        tag : key of the tag

        Raises
        ------
        ReadError
            The object has no such tag, the tag names no group, or tags may not be read.
        """
        place = self.place
        request = partial(self.client.get_object_tagging, Bucket=place.bucket, Key=place.key)
        tags = {each["Key"]: each["Value"] for each in _mapped(place, request, needs="s3:GetObjectTagging")["TagSet"]}
        if tag not in tags:
            raise ReadError(place.uri, f"has no tag {tag!r} that names its groups", "add the tag to the object")
        if not tags[tag].strip():
            raise ReadError(place.uri, f"names no group in its tag {tag!r}", "name at least one, such as public")
        return groups_of(tags[tag].split())

    @contextmanager
    def opened(self) -> Iterator[io.BufferedReader]:
        """The bytes of the object, streamed; a broken stream is resumed at the same byte, up to 3 times.

        Raises
        ------
        ReadError
            The object cannot be read, or its stream broke more than 3 times; raised while reading.
        """
        raw: io.BufferedReader = io.BufferedReader(cast("io.RawIOBase", _Stream(self)))
        with raw:
            yield raw


def place_of(path: str) -> Place:
    """The bucket and key of a path.

    Examples
    --------
    >>> place_of("s3://library/2024/a b#1.md").uri
    's3://library/2024/a%20b%231.md'
    """
    bucket, _, key = path.removeprefix(SCHEME).partition("/")
    return Place(bucket, key)


def objects(path: str) -> Iterator[S3Object]:
    """The object at a path, or all objects under a path that ends in ``/``, ordered by key, without folder markers.

    Raises
    ------
    MissingExtraError
        boto3 is not installed.
    ReadError
        The path names no bucket, or the folder cannot be listed.
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
        for entry in cast("list[Mapping[str, str]]", page.get("Contents", [])):
            if not entry["Key"].endswith("/"):
                yield S3Object(Place(place.bucket, entry["Key"]), client, entry.get("ETag", ""))
        if not page.get("IsTruncated"):
            return
        token = {"ContinuationToken": str(page["NextContinuationToken"])}


def _client(place: Place) -> Any:
    with needs_extra("aws", "reading from S3"):
        import boto3
    # a separate session: the default one keeps expired credentials
    client: Any = _mapped(place, lambda: boto3.session.Session().client("s3"))
    return client


def _mapped(place: Place, action: Callable[[], _Result], *, needs: str = "") -> _Result:
    """The result of ``action``; errors of boto3 become ReadErrors.

    Parameters
    ----------
    place : what is read
    action : calls boto3
    needs : the permission that it needs; empty: those of reading objects and folders
    """
    from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, PartialCredentialsError

    try:
        return action()
    except ClientError as error:
        details = error.response.get("Error", {})
        code = str(details.get("Code", ""))
        unknown = f"S3 answers {code} ({details.get('Message', '')})", "look up this code in the documentation of S3"
        reason, mend = _CODES.get(code, unknown)
        if needs and code in _DENIED:
            reason, mend = "access to its tags is denied", f"the credentials need {needs}"
        raise ReadError(place.uri, reason, mend) from error
    except (NoCredentialsError, PartialCredentialsError) as error:
        mend = "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or sign in"
        raise ReadError(place.uri, "no AWS credentials were found", mend) from error
    except BotoCoreError as error:
        raise ReadError(place.uri, f"S3 cannot be reached ({error})", "check the name and the network") from error


class _Stream(io.RawIOBase):
    """The bytes of an object; requests the rest if the connection breaks."""

    def __init__(self, s3_object: S3Object) -> None:
        self._object = s3_object
        self._at = 0
        self._breaks = 0
        self._etag = ""
        self._body = self._get()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray, /) -> int:  # type: ignore[override]  # Buffer is Python 3.12
        """Fill the buffer with the next bytes; returns their number, 0 at the end."""
        from botocore.exceptions import BotoCoreError

        room = memoryview(buffer)
        while True:
            try:
                data = self._body.read(len(room))
                break
            except BotoCoreError as error:
                self._breaks += 1
                if self._breaks > _MAX_BREAKS:
                    reason = (
                        f"the connection broke {self._breaks} times, the last time after {self._at:,} bytes ({error})"
                    )
                    raise ReadError(self._object.place.uri, reason, "read it again") from error
                _log.info("%s: resumed at byte %d (%s)", self._object.place.uri, self._at, error)
                self._body.close()
                self._body = self._get()
        room[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._body.close()
        super().close()

    def _get(self) -> Any:
        place = self._object.place
        request = {"Bucket": place.bucket, "Key": place.key}
        if self._at:  # IfMatch: the rest of the same object, not of a newer version
            request |= {"Range": f"bytes={self._at}-", "IfMatch": self._etag}
        response = _mapped(place, lambda: self._object.client.get_object(**request))
        self._etag = str(response.get("ETag", ""))
        return response["Body"]
