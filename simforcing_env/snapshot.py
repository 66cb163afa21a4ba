"""A saved moment of an environment: plain arrays and numbers, as bytes without pickle."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from world_model.contract import first_difference
from world_model.errors import ContractError, DataError, InputError
from world_model.rules import Is, follow_all, shown

PARTS = {"identity": Is((dict,), "an object"), "slots": Is((list,), "a list")}
_META, _ARRAY = "meta", "array/"


@dataclass(frozen=True)
class Snapshot:
    """Everything that an environment needs to go on exactly from here.

    ``identity`` names what made it (contract, checkpoint, history, sampler): only an environment of the same
    identity takes it. ``slots`` holds the plain numbers and names of each environment.
    """

    identity: dict[str, Any]
    slots: list[dict[str, Any]]
    arrays: dict[str, NDArray[Any]]

    def to_bytes(self) -> bytes:
        """An npz archive without objects."""
        buffer = io.BytesIO()
        meta = json.dumps({"identity": self.identity, "slots": self.slots})
        arrays = {_ARRAY + name: array for name, array in self.arrays.items()}
        np.savez(buffer, allow_pickle=False, **{_META: np.array(meta)}, **arrays)
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Snapshot:
        """Inverse of `to_bytes`.

        Raises:
            DataError: bytes of something else, or damaged ones.
            InputError: no bytes.
        """
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise InputError(f"a snapshot cannot be made of {shown(data)}; use the bytes of Snapshot.to_bytes")
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as archive:
                meta = json.loads(str(archive[_META]))
                arrays = {n.removeprefix(_ARRAY): archive[n] for n in archive.files if n.startswith(_ARRAY)}
            identity, slots = follow_all(PARTS, meta).values()
        except Exception as error:  # damaged archives make the readers raise errors of many kinds
            raise DataError(
                f"{len(data)} bytes are not a whole snapshot ({shown(error)}); use the bytes of Snapshot.to_bytes"
            ) from error
        return cls(identity, slots, arrays)

    def require(self, identity: dict[str, Any], num_envs: int) -> None:
        """Raise `ContractError` unless this is a moment of ``num_envs`` environments of that identity."""
        difference = first_difference(
            {**identity, "num_envs": num_envs}, {**self.identity, "num_envs": len(self.slots)}
        )
        if difference is not None:
            field, here, there = difference
            raise ContractError(
                f"the snapshot has {field} {there!r} but this environment has {here!r}; "
                "restore it into an environment made with the same arguments"
            )
