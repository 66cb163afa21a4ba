"""Which worlds exist in two domains, and which domain is recorded first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from teachers.appearance.paired import Dress, Dressed, Notes, PairedTeacher, notes_of, undressed
from teachers.registry import LIBERO, make_teacher
from teachers.teacher import Teacher
from world_model.contract import Contract
from world_model.data.pairs import Domain
from world_model.errors import InputError


@dataclass(frozen=True)
class Twin:
    """A teacher of the domain that plays recorded actions again, what dresses it, and what is noted of it."""

    teacher: Teacher
    dress: Dress
    notes: Notes


@dataclass(frozen=True)
class TwoLooks:
    """A world in two domains: in ``source`` behaviours act and are recorded, the other plays their actions again."""

    source: Domain
    teacher: str
    """Name of the source's teacher and of its recorder."""
    twin: str
    """Name of the other domain's teacher."""

    def make_twin(self, contract: Contract | None = None) -> Twin:
        """The other domain's teacher.

        Raises:
            MissingExtraError: its simulator is not installed.
            ContractError: it cannot work under the contract.
        """
        teacher = make_teacher(self.twin, contract)
        if isinstance(teacher, Dressed):
            return Twin(teacher, teacher.dress, teacher.notes())
        return Twin(teacher, undressed, notes_of(teacher))


PAIRED_WORLDS: Mapping[str, TwoLooks] = MappingProxyType(
    {
        "pusht": TwoLooks("real", "pusht", "pusht-mujoco"),
        **{suite: TwoLooks("sim", suite, f"{suite}-real") for suite in LIBERO},
    }
)
"""Name of a world to its two domains."""


def two_looks(world: str) -> TwoLooks:
    """The domains of a world.

    Raises:
        InputError: it has only one.
    """
    if world not in PAIRED_WORLDS:
        raise InputError(f"world {world!r} has no two looks; the worlds that do are {', '.join(PAIRED_WORLDS)}")
    return PAIRED_WORLDS[world]


def make_paired(world: str, contract: Contract | None = None) -> PairedTeacher:
    """Both domains of a world, led by the same actions.

    Raises:
        InputError: the world has only one domain.
        MissingExtraError: a simulator is not installed.
        ContractError: the world cannot work under the contract.
    """
    looks = two_looks(world)
    twin, source = looks.make_twin(contract), make_teacher(looks.teacher, contract)
    if looks.source == "real":
        return PairedTeacher(twin.teacher, source, twin.dress)
    return PairedTeacher(source, twin.teacher, twin.dress)


def make_sim(world: str, contract: Contract | None = None) -> Teacher:
    """A teacher of a world's `sim` domain; raises as `make_paired` does."""
    looks = two_looks(world)
    return make_teacher(looks.teacher if looks.source == "sim" else looks.twin, contract)
