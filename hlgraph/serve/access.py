"""Who may ask the server what: keys, bearer tokens, and the file of the server's state, in which keys and jobs are.

A key is random, shown once, and stored as a hash. It names the corpora, the rights and the groups of its callers. A token of an
OpenID Connect issuer names them in claims.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, get_args

import filelock

from hlgraph.errors import (
    AccessError,
    CredentialError,
    InputError,
    StoreUnavailableError,
    UnknownNameError,
    needs_extra,
)
from hlgraph.serve.shapes import Right
from hlgraph.settings import ServeSettings
from hlgraph.stores import files

RIGHTS: Final[tuple[str, ...]] = get_args(Right)
"""``operate`` includes ``write``, and ``write`` includes ``read``."""
HISTORY: Final = "@history"
_KEY = re.compile(r"hlg_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_NO_HASH = hashlib.sha256(b"no key has this hash").hexdigest()
_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
_REFRESH_SECONDS = 10.0  # between two fetches of the issuer's keys because of an unknown one
_WAIT_SECONDS = 10.0
_MOST_DAYS = 36_500  # that a key is valid
_LOOK_SECONDS = 0.1  # between two looks for the first key
_SCHEMA = """
CREATE TABLE IF NOT EXISTS api_key (id TEXT PRIMARY KEY, name TEXT NOT NULL, hash TEXT NOT NULL, corpora TEXT NOT NULL,
    rights TEXT NOT NULL, groups TEXT NOT NULL, created TEXT NOT NULL, expires REAL, revoked TEXT);
CREATE TABLE IF NOT EXISTS job (id TEXT PRIMARY KEY, corpus TEXT NOT NULL, owner TEXT NOT NULL, state TEXT NOT NULL,
    request TEXT NOT NULL, created TEXT NOT NULL, updated TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
    is_cancelled INTEGER NOT NULL DEFAULT 0, progress TEXT, report TEXT, problem TEXT);
CREATE INDEX IF NOT EXISTS job_state ON job (state, created);
CREATE TABLE IF NOT EXISTS done_once (owner TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL, process TEXT NOT NULL,
    status INTEGER, body BLOB, at REAL NOT NULL, PRIMARY KEY (owner, key));
"""


def now() -> str:
    """The time, as texts of the state have it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@contextmanager
def stored_at(path: Path) -> Iterator[None]:
    """A block that uses files of the state. Raises StoreUnavailableError if they cannot be used, such as on a full disk."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StoreUnavailableError(
            f"{path}: the state of the server cannot be used ({error}); free space, see that {files.writer()} may write "
            "there, or choose another folder with --state"
        ) from error


class StateFile:
    """The SQLite file of a server: its keys, its jobs, and the outcomes of repeatable writes. For several threads and processes.

    Parameters
    ----------
    folder : folder of the state; created with its first use
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "state-1.sqlite"
        self._connections: dict[str, sqlite3.Connection] = {}
        self._locks = {"read": threading.RLock(), "write": threading.RLock()}  # a reader never waits for the disk

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The open file. Raises StoreUnavailableError if it cannot be used."""
        with self._connected("read") as connection:
            yield connection

    @contextmanager
    def _connected(self, use: str) -> Iterator[sqlite3.Connection]:
        with self._locks[use], stored_at(self.path):
            if use not in self._connections:
                self._connections[use] = self._opened()
            yield self._connections[use]

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction. It is on disk when the block ends without an error."""
        with self._connected("write") as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        for use, lock in self._locks.items():
            with lock:
                connection = self._connections.pop(use, None)
                if connection is not None:
                    connection.close()

    def _opened(self) -> sqlite3.Connection:
        files.make_folder(self.folder)
        files.reserve(self.path)
        connection = sqlite3.connect(self.path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False)
        # SQLite does not wait where two connections change to WAL at once.
        with filelock.FileLock(self.path.with_name(f"{self.path.name}.lock"), mode=files.FILE, timeout=_WAIT_SECONDS):
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA secure_delete = ON")
            connection.executescript(_SCHEMA)
        return connection


# Who asks.


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks, and what that caller may do.

    Attributes
    ----------
    name : for the audit: ``key:ID``, ``token:SUBJECT`` or ``local``
    rights : ``read``, ``write``, ``operate``; a right includes those before it
    corpora : their names; None: all
    groups : groups of the caller; empty: the caller is in none
    """

    name: str
    rights: frozenset[str]
    corpora: tuple[str, ...] | None = None
    groups: tuple[str, ...] = ()

    def has(self, right: Right) -> bool:
        """Whether the caller has a right."""
        return any(RIGHTS.index(own) >= RIGHTS.index(right) for own in self.rights)

    def sees(self, corpus: str) -> bool:
        """Whether the caller may know of a corpus. Those of histories are asked by ``as_of``."""
        return not corpus.endswith(HISTORY) and (self.corpora is None or corpus in self.corpora)

    def check(self, right: Right) -> None:
        """Raise AccessError if the caller lacks a right."""
        if not self.has(right):
            raise AccessError(f"this needs the right to {right}, which {self.name} does not have; ask with another key")


LOCAL = Principal("local", frozenset(RIGHTS))
"""Everyone on this machine, as long as the server has no key."""


# Keys.


@dataclass(frozen=True, slots=True)
class Key:
    """A key, without its secret.

    Attributes
    ----------
    id : its public part
    name : what it is for
    corpora : corpora that it opens; None: all
    rights, groups : of its callers
    created, revoked : times; ``revoked`` is None while it is valid
    expires : time after which it is refused; None: never
    """

    id: str
    name: str
    corpora: tuple[str, ...] | None
    rights: tuple[str, ...]
    groups: tuple[str, ...]
    created: str
    expires: str | None = None
    revoked: str | None = None


class Keys:
    """The keys of a server.

    Parameters
    ----------
    state : the file that they are in
    """

    def __init__(self, state: StateFile) -> None:
        self._state = state
        self._has_any, self._looked = False, -_LOOK_SECONDS

    def add(
        self,
        name: str,
        *,
        corpora: Sequence[str] | None = None,
        rights: Iterable[str] = ("read",),
        groups: Sequence[str] = (),
        days: float | None = None,
    ) -> tuple[str, Key]:
        """Make a key, and return it with what is stored of it. The key itself is not stored.

        Parameters
        ----------
        name : what it is for
        corpora : names of corpora; None: all
        rights : of its callers
        groups : groups of its callers, who then see only sources of these groups
        days : after which it is refused; None: never

        Raises
        ------
        InputError : a right that does not exist, groups for a caller who operates, or a number that is not above 0
        """
        chosen = tuple(right for right in RIGHTS if right in set(rights))
        unknown = set(rights) - set(RIGHTS)
        if unknown or not chosen:
            raise InputError(f"there is no right {min(unknown, default='')!r}; choose {', '.join(RIGHTS)}")
        if "operate" in chosen and groups:
            raise InputError("who operates sees every source, so groups have no effect; leave out one of them")
        if days is not None and not 0 < days <= _MOST_DAYS:
            raise InputError(f"days is {days}; choose a number above 0 and at most {_MOST_DAYS:,}")
        if not name.strip() or any(not part.strip() for part in (*groups, *(corpora or ()))):
            raise InputError("a name is empty; give the key, its corpora and its groups names")
        if any(";" in group for group in groups):
            raise InputError("a group has ;, which separates groups, so no source names it; give each group by itself")
        identity, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
        expires = None if days is None else time.time() + days * 86_400
        names = None if corpora is None else sorted(set(corpora))
        with self._state.writing() as connection:
            connection.execute(
                "INSERT INTO api_key VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL)",
                (identity, name, _hash(secret), *map(json.dumps, (names, chosen, sorted(set(groups)))), now(), expires),
            )
        self._has_any = True
        key = next(key for key in self.list() if key.id == identity)
        return f"hlg_{identity}_{secret}", key

    def list(self) -> tuple[Key, ...]:
        """All keys, also the revoked ones, the oldest first."""
        with self._state.reading() as connection:
            rows = connection.execute(
                "SELECT id, name, corpora, rights, groups, created, expires, revoked FROM api_key ORDER BY created, id"
            ).fetchall()
        return tuple(
            Key(
                identity,
                name,
                None if corpora == "null" else tuple(json.loads(corpora)),
                tuple(json.loads(rights)),
                tuple(json.loads(groups)),
                created,
                None if expires is None else datetime.fromtimestamp(expires, UTC).isoformat(timespec="seconds"),
                revoked,
            )
            for identity, name, corpora, rights, groups, created, expires, revoked in rows
        )

    def revoke(self, id: str) -> Key:  # noqa: A002
        """Refuse a key from the next request on. Raises UnknownNameError for an unknown id."""
        with self._state.writing() as connection:
            connection.execute("UPDATE api_key SET revoked = coalesce(revoked, ?) WHERE id = ?", (now(), id))
        key = next((key for key in self.list() if key.id == id), None)
        if key is None:
            raise UnknownNameError(f"there is no key {id!r}; hlgraph keys list shows their ids")
        return key

    @property
    def has_any(self) -> bool:
        """Whether there is a key, or was one: a server whose keys are all revoked is not open again.

        A key that another process adds is seen within a tenth of a second.
        """
        if not self._has_any and time.monotonic() - self._looked >= _LOOK_SECONDS:  # no key is ever removed
            self._looked = time.monotonic()
            with self._state.reading() as connection:
                self._has_any = connection.execute("SELECT 1 FROM api_key LIMIT 1").fetchone() is not None
        return self._has_any

    def principal(self, text: str) -> Principal:
        """Who asks with this key. Raises CredentialError if it is not valid, whatever the reason is."""
        match = _KEY.fullmatch(text)
        with self._state.reading() as connection:
            row = connection.execute(
                "SELECT hash, corpora, rights, groups, expires, revoked FROM api_key WHERE id = ?",
                (match[1] if match else "",),
            ).fetchone()
        expected = _NO_HASH if row is None else row[0]
        is_equal = hmac.compare_digest(_hash(match[2] if match else ""), expected)
        if row is None or not is_equal or row[5] is not None or (row[4] is not None and row[4] <= time.time()):
            raise CredentialError("the key is not valid; ask the operator of the server for one")
        corpora, rights, groups = map(json.loads, row[1:4])
        name = f"key:{match[1] if match else ''}"
        return Principal(name, frozenset(rights), None if corpora is None else tuple(corpora), tuple(groups))


def _hash(secret: str) -> str:
    """The hash of a secret of 256 random bits, which needs no salt and no slow hash."""
    return hashlib.sha256(secret.encode()).hexdigest()


# Tokens.


class Tokens:
    """Bearer tokens of an OpenID Connect issuer.

    Parameters
    ----------
    settings : issuer, audience, the URL of its public keys, leeway, and the names of the claims
    """

    def __init__(self, settings: ServeSettings) -> None:
        with needs_extra("server", "checking bearer tokens"):
            import jwt
        self._jwt = jwt
        self._settings = settings
        self._lock = threading.Lock()
        self._keys: Mapping[str | None, Any] = {}
        self._fetched = 0.0

    def principal(self, token: str) -> Principal:
        """Who asks with this token. Raises CredentialError if it is not valid, BusyError if the issuer does not answer."""
        jwt, settings = self._jwt, self._settings
        try:
            key = self._key(jwt.get_unverified_header(token).get("kid"))
            claims = jwt.decode(
                token,
                key,
                algorithms=_ALGORITHMS,
                audience=settings.audience,
                issuer=settings.issuer,
                leeway=settings.leeway,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except jwt.PyJWTError as error:
            raise CredentialError(f"the token is not valid ({error}); ask {settings.issuer} for another one") from error
        names = {"corpora": "hlgraph_corpora", "rights": "hlgraph_rights", "groups": "groups", **settings.claims}
        corpora, rights, groups = (_listed(claims.get(names[part])) for part in ("corpora", "rights", "groups"))
        known = frozenset(right for right in rights if right in RIGHTS) or frozenset({"read"})
        admitted = None if "*" in corpora else tuple(corpora)
        return Principal(f"token:{claims['sub']}", known, admitted, () if "operate" in known else tuple(groups))

    def _key(self, kid: str | None) -> Any:
        """The public key of this id. An unknown id fetches the keys again, but not more often than every ten seconds."""
        with self._lock:
            if (kid not in self._keys and time.monotonic() - self._fetched > _REFRESH_SECONDS) or not self._keys:
                self._keys, self._fetched = self._fetch(), time.monotonic()
            if kid not in self._keys:
                raise self._jwt.InvalidKeyError("its key is not one of the issuer")
            return self._keys[kid]

    def _fetch(self) -> Mapping[str | None, Any]:
        try:
            where = self._settings.jwks
            if not where:
                about = f"{self._settings.issuer.rstrip('/')}/.well-known/openid-configuration"
                where = json.loads(_read(about))["jwks_uri"]
            listed = self._jwt.PyJWKSet.from_json(_read(where).decode())
        except (OSError, ValueError, KeyError, TypeError, self._jwt.PyJWTError) as error:
            raise StoreUnavailableError(
                f"the keys of {self._settings.issuer} cannot be read ({error}); check serve.issuer and serve.jwks"
            ) from error
        return {key.key_id: key.key for key in listed.keys}


def _read(url: str) -> bytes:
    from urllib.request import urlopen

    if not url.startswith(("https://", "http://")):
        raise OSError(f"{url} is not an address of the web")
    with urlopen(url, timeout=_WAIT_SECONDS) as reply:  # noqa: S310 - checked above
        content: bytes = reply.read(1 << 20)
        return content


def _listed(claim: object) -> list[str]:
    """A claim as names: a list of texts, or one text with blanks between."""
    if isinstance(claim, str):
        return claim.split()
    return [name for name in claim if isinstance(name, str) and name.strip()] if isinstance(claim, list) else []
