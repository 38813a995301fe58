"""The master keys that sign tokens, three kinds, each with a current, a next and a previous key;
and the tokens of containers, of their nodes, and of masters that they sign.

A key rolls in two steps. A next key is made and given to the nodes or masters; after a delay it
becomes the current one, which signs. The keys are in a file that only the server's account can
read; a key is on disk before it is used, so that tokens stay valid when the server starts again.
Source: Hadoop 3.4.1, RMContainerTokenSecretManager, NMTokenSecretManagerInRM,
AMRMTokenSecretManager.
"""

import asyncio
import enum
import secrets
from collections.abc import Callable
from pathlib import Path

import msgspec

from fairshare.core.model.events import ContainerAllocated
from fairshare.core.model.identifiers import NUMBER_MASK, ApplicationId, number_of
from fairshare.core.model.resources import ResourceTypes
from fairshare.errors import FairshareError
from fairshare.server.state_directory import read_json_file, write_file
from fairshare.yarn.rpc.configuration import KeySettings
from fairshare.yarn.rpc.records import (
    attempt_id_message,
    container_id_message,
    node_id_message,
    node_name,
    resource_message,
)
from fairshare.yarn.rpc.wire import tokens
from fairshare.yarn.rpc.wire.messages import (
    AMRMTokenIdentifierProto,
    ContainerTokenIdentifierProto,
    ContainerTypeProto,
    ExecutionTypeProto,
    MasterKeyProto,
    NMTokenIdentifierProto,
    NodeIdProto,
    PriorityProto,
)
from fairshare.yarn.rpc.wire.tokens import Token

FILE = "hadoop-keys"

_KEY_BYTES = 8
_MOST_IDS = 2**31
_LONGEST_WAIT_MS = 60_000


class Kind(enum.StrEnum):
    """What a key signs: tokens of containers, NMTokens, or tokens of masters (AMRMToken)."""

    CONTAINER = "container"
    NODE = "node"
    MASTER = "master"


class MasterKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A key with its number, by which tokens name it."""

    number: int
    secret: bytes

    def message(self) -> MasterKeyProto:
        """It as a MasterKeyProto, for nodes."""
        return MasterKeyProto(key_id=self.number, bytes=self.secret)


class KeyRing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of one kind. The next key becomes the current one at `active_ms`."""

    current: MasterKey
    rolled_ms: int
    next: MasterKey | None = None
    active_ms: int = 0
    previous: MasterKey | None = None


_Rings = dict[Kind, KeyRing]


class MasterKeys:
    """All keys of a cluster. Made by `open`.

    `rolls_for_nodes`: a next key is being given to nodes, as each of their heartbeats asks.
    """

    def __init__(self, path: Path, settings: KeySettings, rings: _Rings) -> None:
        self._path = path
        self._settings = settings
        self._rings = rings
        self.rolls_for_nodes = False
        self._look_at_next()

    @classmethod
    def open(cls, directory: Path, settings: KeySettings, now_ms: int) -> "MasterKeys":
        """The keys of a state directory; new ones if it has none. Raises FairshareError.

        A next key that is not active yet waits its whole delay again: while the server was away, no
        node or master received it.
        """
        path = directory / FILE
        rings = _read(path)
        keys = cls(path, settings, rings or {})
        if rings is None:
            keys._store({kind: KeyRing(_new_key(None), now_ms) for kind in Kind})
            return keys
        waiting = {
            kind: msgspec.structs.replace(ring, active_ms=now_ms + keys._delay_ms(kind))
            for kind, ring in rings.items()
            if ring.next is not None
        }
        if waiting:
            keys._store({**rings, **waiting})
        return keys

    def current(self, kind: Kind) -> MasterKey:
        """The key that signs tokens now."""
        return self._rings[kind].current

    def next(self, kind: Kind) -> MasterKey | None:
        """The key that is being given out, and does not sign yet."""
        return self._rings[kind].next

    def newest(self, kind: Kind) -> MasterKey:
        """The next key, if there is one; else the current one."""
        return self._rings[kind].next or self._rings[kind].current

    def known(self, kind: Kind, number: int) -> bytes | None:
        """The secret of the current, next or previous key of this number."""
        ring = self._rings[kind]
        for key in (ring.current, ring.next, ring.previous):
            if key is not None and key.number == number:
                return key.secret
        return None

    def admits(self, number: int) -> bytes | None:
        """The secret with which a master may log in: the current or the next key's."""
        ring = self._rings[Kind.MASTER]
        for key in (ring.current, ring.next):
            if key is not None and key.number == number:
                return key.secret
        return None

    def due_ms(self) -> int:
        """When `advance` must be called next."""
        return min(self._due_ms(kind, ring) for kind, ring in self._rings.items())

    def advance(self, now_ms: int) -> frozenset[Kind]:
        """Make the keys that are due, or let them sign; returns the kinds whose next key became
        the current one. Raises FairshareError, and then changes nothing, if they cannot be stored.
        """
        rings = dict(self._rings)
        activated = set()
        for kind, ring in self._rings.items():
            if now_ms < self._due_ms(kind, ring):
                continue
            if ring.next is not None:
                rings[kind] = KeyRing(ring.next, ring.rolled_ms, previous=ring.current)
                activated.add(kind)
            else:
                rings[kind] = KeyRing(
                    ring.current,
                    now_ms,
                    _new_key(ring.current),
                    now_ms + self._delay_ms(kind),
                    ring.previous,
                )
        if rings != self._rings:
            self._store(rings)
        return frozenset(activated)

    def _due_ms(self, kind: Kind, ring: KeyRing) -> int:
        if ring.next is not None:
            return ring.active_ms
        settings = self._settings
        interval_ms = {
            Kind.CONTAINER: settings.container_rolling_ms,
            Kind.NODE: settings.node_rolling_ms,
            Kind.MASTER: settings.master_rolling_ms,
        }
        return ring.rolled_ms + interval_ms[kind]

    def _delay_ms(self, kind: Kind) -> int:
        settings = self._settings
        return settings.master_delay_ms if kind == Kind.MASTER else settings.node_delay_ms

    def _store(self, rings: _Rings) -> None:
        write_file(self._path, msgspec.json.encode(rings) + b"\n")
        self._rings = rings
        self._look_at_next()

    def _look_at_next(self) -> None:
        nodes = [self._rings.get(kind) for kind in (Kind.CONTAINER, Kind.NODE)]
        self.rolls_for_nodes = any(ring is not None and ring.next is not None for ring in nodes)


def _new_key(before: MasterKey | None) -> MasterKey:
    """A random key; its number follows the one before, as in Hadoop, which begins at random."""
    number = secrets.randbelow(_MOST_IDS) if before is None else (before.number + 1) % _MOST_IDS
    return MasterKey(number, secrets.token_bytes(_KEY_BYTES))


def _read(path: Path) -> _Rings | None:
    """The keys in a file; None: there is no file."""
    remedy = "Delete it: nodes take new keys, and masters that run now are started again"
    rings = read_json_file(path, _Rings, remedy, private=True)
    if rings is None:
        return None
    missing = [kind for kind in Kind if kind not in rings]
    if missing:
        raise FairshareError(f"{path} has no keys of the kind {missing[0]}: delete it")
    return rings


async def watch(
    keys: MasterKeys,
    now_ms: Callable[[], int],
    activated: Callable[[frozenset[Kind]], None],
) -> None:
    """Roll keys when they are due, until cancelled; `activated` is called with the kinds that have
    a new current key. Raises FairshareError if keys cannot be stored."""
    while True:
        wait_ms = keys.due_ms() - now_ms()
        await asyncio.sleep(min(max(wait_ms, 100), _LONGEST_WAIT_MS) / 1_000)
        kinds = keys.advance(now_ms())
        if kinds:
            activated(kinds)


_MASTER = ContainerTypeProto.Value("APPLICATION_MASTER")
_TASK = ContainerTypeProto.Value("TASK")
_GUARANTEED = ExecutionTypeProto.Value("GUARANTEED")


class TokenSigner:
    """Signs tokens of one cluster.

    `manager_id` identifies the life of this server (`rm_identifier`): nodes refuse containers that
    an earlier one has granted. `life_ms`: how long a container may start after its token was made.
    `service_of` is `IP:port` of a node, `node_id` its NodeIdProto: where masters call it.
    """

    def __init__(
        self,
        keys: MasterKeys,
        epoch_ms: int,
        manager_id: int,
        types: ResourceTypes,
        life_ms: int,
        now_ms: Callable[[], int],
        service_of: Callable[[str], str],
        node_id: Callable[[str], NodeIdProto] = node_id_message,
    ) -> None:
        self._keys = keys
        self._epoch_ms = epoch_ms
        self._manager_id = manager_id
        self._types = types
        self._life_ms = life_ms
        self._now_ms = now_ms
        self._service_of = service_of
        self.node_id = node_id
        self._alike: tuple[object, ...] = ()
        self._container = ContainerTokenIdentifierProto()
        self._alike_nodes: tuple[object, ...] = ()
        self._node = NMTokenIdentifierProto()

    def container(self, granted: ContainerAllocated, user: str) -> Token:
        """The token with which a container is started on its node, once.

        Containers of one answer are alike: what they have in common is kept from one to the next.
        """
        key = self._keys.current(Kind.CONTAINER)
        ask = granted.resource, granted.priority, granted.request, granted.master
        alike = (key.number, user, granted.container & ~NUMBER_MASK, *ask)
        if alike != self._alike:
            self._alike = alike
            self._container = ContainerTokenIdentifierProto(
                containerId=container_id_message(self._epoch_ms, granted.container),
                appSubmitter=user,
                resource=resource_message(granted.resource, self._types),
                masterKeyId=key.number,
                rmIdentifier=self._manager_id,
                priority=PriorityProto(priority=granted.priority),
                nodeLabelExpression="",
                containerType=_MASTER if granted.master else _TASK,
                executionType=_GUARANTEED,
                version=0,
                allocation_request_id=-1 if granted.master else granted.request,
            )
        identifier = self._container
        identifier.containerId.id = number_of(granted.container)
        identifier.nmHostAddr = node_name(self.node_id(granted.node))
        identifier.expiryTimeStamp = self._now_ms() + self._life_ms
        identifier.creationTime = granted.allocated_ms
        service = self._service_of(granted.node)
        return tokens.signed(tokens.CONTAINER_TOKEN, identifier, key.secret, service)

    def node(self, application: ApplicationId, attempt: int, node: str, user: str) -> Token:
        """The token with which an attempt logs in to a node (NMToken)."""
        key = self._keys.current(Kind.NODE)
        alike = (key.number, user, application, attempt)
        if alike != self._alike_nodes:
            self._alike_nodes = alike
            self._node = NMTokenIdentifierProto(
                appAttemptId=attempt_id_message(self._epoch_ms, application, attempt),
                appSubmitter=user,
                keyId=key.number,
            )
        identifier = self._node
        identifier.nodeId.CopyFrom(self.node_id(node))
        return tokens.signed(tokens.NM_TOKEN, identifier, key.secret, self._service_of(node))

    def master(self, application: ApplicationId, attempt: int) -> Token:
        """The token with which a master logs in here (AMRMToken); it finds the address itself."""
        key = self._keys.newest(Kind.MASTER)
        identifier = AMRMTokenIdentifierProto(
            appAttemptId=attempt_id_message(self._epoch_ms, application, attempt),
            keyId=key.number,
        )
        return tokens.signed(tokens.AMRM_TOKEN, identifier, key.secret)
