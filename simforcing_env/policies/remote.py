"""A policy in a process of its own, with dependencies of its own, behind a socket.

The server answers maps of `simforcing_env.policies.wire` with a "call": "hello" (``name``, ``hash``, ``horizon`` and
the ``contract`` hash that it acts for), "reset" (``seeds``, ``tasks`` as pairs of number and text) and "act"
(``observation``; gives ``actions`` ``(K, n, A)``). A server in another language needs no more. An answer with "error"
is a sentence that the caller raises.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simforcing_env.policies.policy import Observation, Policy, Task, batch_size, check_chunk
from simforcing_env.policies.wire import receive, send
from world_model.contract import Contract
from world_model.errors import ContractError, DataError, InputError, SimforcingError
from world_model.rules import shown

LOOPBACK = "127.0.0.1"
TIMEOUT = 300.0  # s for one answer


class RemotePolicy:
    """The near end; acts as the policy that the far end serves.

    Raises:
        DataError: the far end went away, or answers with something else.
        InputError: an error that the far end tells.
    """

    def __init__(self, connection: socket.socket, contract: Contract, address: str) -> None:
        self.contract, self._connection, self._address = contract, connection, address
        told = self._ask({"call": "hello"})
        try:
            self.name, self.hash, self.horizon = str(told["name"]), str(told["hash"]), int(told["horizon"])
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{address} greets with {shown(told)}, which is no policy ({error!r})") from error
        if told.get("contract") not in (None, contract.hash):
            raise ContractError(
                f"the policy at {address} acts for contract {told['contract']} but the world's is {contract.hash}; "
                "serve one for this world"
            )

    @classmethod
    def connect(cls, address: str, contract: Contract, timeout: float = TIMEOUT) -> RemotePolicy:
        """Connect to "HOST:PORT" or "PORT" of this machine.

        Raises:
            InputError: no such address, or nobody answers there.
        """
        host, _, port = address.rpartition(":")
        try:
            connection = socket.create_connection((host or LOOPBACK, int(port)), timeout)
        except (OSError, ValueError, OverflowError) as error:
            raise InputError(
                f"no policy answers at {address!r} ({error}); start one with: simforcing policy serve"
            ) from error
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return cls(connection, contract, address)

    def reset(self, seeds: Sequence[int], tasks: Sequence[Task]) -> None:
        pairs = [[task.number, task.text] for task in tasks]
        self._ask({"call": "reset", "seeds": [int(seed) for seed in seeds], "tasks": pairs})

    def act(self, observation: Observation) -> NDArray[np.float32]:
        told = self._ask({"call": "act", "observation": dict(observation)})
        return check_chunk(self, told.get("actions"), batch_size(observation), self.contract.action_dim)

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def _ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        try:
            send(self._connection, message)
            told = receive(self._connection)
        except OSError as error:
            raise DataError(f"the policy at {self._address} went away ({error}); start it again") from error
        if told is None:
            raise DataError(f"the policy at {self._address} hung up; start it again")
        if "error" in told:
            raise InputError(f"the policy at {self._address} says: {told['error']}")
        return told


def serve(
    policy: Policy,
    contract: Contract,
    host: str = LOOPBACK,
    port: int = 0,
    *,
    ready: Callable[[str], None] = lambda address: None,
    callers: int | None = None,
) -> None:
    """Answer one caller after another, ``callers`` of them or for ever.

    Args:
        port: 0 takes a free one.
        ready: told "HOST:PORT" as soon as callers can come.

    Raises:
        InputError: the address cannot be used.
    """
    try:
        listener = socket.create_server((host, port))
    except (OSError, OverflowError) as error:
        raise InputError(f"{host}:{port} cannot be listened on ({error}); choose another address") from error
    with listener:
        ready("{}:{}".format(*listener.getsockname()[:2]))
        served = 0
        while callers is None or served < callers:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with connection, contextlib.suppress(OSError):  # a caller that went away does not end the service
                _converse(connection, policy, contract)
            served += 1


def _converse(connection: socket.socket, policy: Policy, contract: Contract) -> None:
    while True:
        try:
            message = receive(connection)
            if message is None:
                return
            answer = _answer(message, policy, contract)
        except SimforcingError as error:
            answer = {"error": str(error)}
        send(connection, answer)


def _answer(message: Mapping[str, Any], policy: Policy, contract: Contract) -> dict[str, Any]:
    call = message.get("call")
    if call == "hello":
        return {"name": policy.name, "hash": policy.hash, "horizon": policy.horizon, "contract": contract.hash}
    try:
        if call == "reset":
            policy.reset([int(s) for s in message["seeds"]], [Task(int(n), str(text)) for n, text in message["tasks"]])
            return {}
        if call == "act":
            return {"actions": policy.act(message["observation"])}
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise InputError(f"call {call!r} failed ({error!r}); check what was sent") from error
    raise InputError(f"call {shown(call)} is unknown; use 'hello', 'reset' or 'act'")
