"""A diffusion policy: chunks of actions drawn from noise, in view of the present frame and proprio alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from simforcing_env.policies.denoiser import ActionDenoiser, DenoiserConfig
from simforcing_env.policies.eyes import EYES, PointConfig, PointEyes
from simforcing_env.policies.policy import Observation, Task, batch_size, generators, policy_hash
from simforcing_env.spaces import PROPRIO_KEYS, image_keys
from world_model import checkpoint, registry
from world_model.canvas import canvas_shape, join
from world_model.contract import Contract
from world_model.errors import ContractError, InputError
from world_model.runtime import Runtime

NETS: registry.Registry = {"diffusion": (DenoiserConfig, ActionDenoiser)}
_SALT = 6
_PLAIN = {"steps": None, "precision": "float32"}


class DiffusionPolicy:
    """A `Policy` that can also propose many chunks for one moment, which planners rank.

    Args:
        name: for people.
        hash: of its folder; "unsaved" before it has one.
        steps: of the sampler; None keeps the network's own.
        runtime: of the network, which the hash tells of where it is not float32.
    """

    def __init__(
        self,
        net: ActionDenoiser,
        eyes: Any,
        contract: Contract,
        *,
        name: str = "diffusion",
        hash: str = "unsaved",
        steps: int | None = None,
        runtime: Runtime | None = None,
    ) -> None:
        if contract.action_dim != net.config.action_dim or eyes.dim != net.config.sight:
            raise ContractError(
                f"the policy takes {net.config.sight} numbers and gives actions of {net.config.action_dim} but its "
                f"eyes give {eyes.dim} and contract {contract.name!r} takes {contract.action_dim}; build it anew"
            )
        self.net, self.eyes, self.contract = net.eval(), eyes.eval(), contract
        self.runtime = runtime or Runtime()
        self._net = net if runtime is None else runtime.prepare(net)
        self.name, self.steps = name, steps
        self.sample_steps = steps or net.config.sample_steps
        changed = {"steps": steps, "precision": self.runtime.precision}
        self.hash = hash if changed == _PLAIN else policy_hash("diffusion", {"folder": hash, **changed})
        self._generators: list[np.random.Generator] = []
        self._tasks: Tensor | None = None

    @property
    def horizon(self) -> int:
        return self.net.config.horizon

    @property
    def reads_state(self) -> int:
        """Numbers of a world model's state that its eyes make of pictures; 0 where they look at pixels."""
        return self.eyes.state_dim if self.eyes.reads_points else 0

    def reset(self, seeds: Sequence[int], tasks: Sequence[Task] = ()) -> None:
        """Begin episodes; their noise follows from their seeds."""
        self._generators = generators(seeds, _SALT)
        self._tasks = torch.tensor([task.number for task in tasks]) if tasks else None

    def act(self, observation: Observation) -> NDArray[np.float32]:
        """One chunk ``(K, n, A)`` for each episode, in the contract's units."""
        return self.sample(observation, 1)[:, 0]

    def sample(self, observation: Observation, count: int) -> NDArray[np.float32]:
        """``count`` chunks ``(K, count, n, A)`` for each episode, the first of them what `act` would do."""
        rows = batch_size(observation)
        if rows != len(self._generators):
            raise InputError(f"the policy began {len(self._generators)} episodes but was shown {rows}; reset it first")
        shape = (count, self.horizon, self.contract.action_dim)
        noise = np.stack([g.standard_normal(shape, np.float32) for g in self._generators])
        chunks = self.chunks(self.see(observation), torch.from_numpy(noise))
        return self.contract.denormalize_actions(chunks.numpy())

    @torch.inference_mode()
    def see(self, observation: Observation) -> Tensor:
        """What is seen, ``(K, sight)``."""
        keys = image_keys(self.contract)
        frames = join(self.contract, {c.name: observation[k] for c, k in zip(self.contract.cameras, keys, strict=True)})
        proprio = self.contract.normalize_proprio(observation[PROPRIO_KEYS["plain"]])
        pictures = torch.from_numpy(np.ascontiguousarray(frames))
        seen: Tensor = self.eyes(pictures, torch.from_numpy(proprio), self._tasks_of(len(frames)))
        return seen

    @torch.inference_mode()
    def see_state(self, proprio: NDArray[np.float32], state: NDArray[np.float32]) -> Tensor:
        """The same of what a world model foresees: ``proprio`` ``(N, P)`` in units and ``state`` ``(N, S)``.

        N is a multiple of the episodes, as many rows for each in turn.
        """
        numbers = torch.from_numpy(self.contract.normalize_proprio(proprio))
        seen: Tensor = self.eyes.of_state(numbers, torch.from_numpy(state), self._tasks_of(len(state)))
        return seen

    def _tasks_of(self, rows: int) -> Tensor | None:
        return None if self._tasks is None else self._tasks.repeat_interleave(rows // len(self._tasks))

    def chunks(self, sight: Tensor, noise: Tensor, steps: int | None = None) -> Tensor:
        """Normalised chunks ``(K, k, n, A)`` for ``sight`` ``(K, F)`` and noise of that shape, in so many steps."""
        rows = sight[:, None].expand(-1, noise.shape[1], -1).flatten(0, 1)
        with self.runtime.autocast():
            made: Tensor = self._net.sample(rows, noise.flatten(0, 1), steps or self.sample_steps)
        return made.float().view_as(noise)

    def save(self, folder: Path, card: str = "") -> None:
        """Write a folder of config, contract and weights, whole or not at all."""
        with checkpoint.writing_folder(folder) as temporary:
            config = {"net": registry.to_dict(NETS, self.net), "eyes": registry.to_dict(EYES, self.eyes)}
            checkpoint.write_json(temporary / "config.json", config)
            (temporary / "contract.json").write_text(self.contract.to_json() + "\n", encoding="utf-8")
            weights = {f"net.{k}": v for k, v in self.net.state_dict().items()}
            weights |= {f"eyes.{k}": v for k, v in self.eyes.state_dict().items()}
            checkpoint.write_tensors(temporary / "model.safetensors", weights)
            (temporary / checkpoint.CARD).write_text(card or "# Diffusion policy\n", encoding="utf-8")


def load_diffusion(
    folder: Path,
    contract: Contract | None = None,
    steps: int | None = None,
    name: str | None = None,
    runtime: Runtime | None = None,
) -> DiffusionPolicy:
    """Open what `DiffusionPolicy.save` wrote; its name is the folder's if none is given.

    Raises:
        DataError: absent, damaged or of another kind.
        ContractError: made for another contract than ``contract``.
    """
    opened = checkpoint.open_folder(folder)
    config = opened.json("config.json")
    own = Contract.from_json(opened.file("contract.json").read_text(encoding="utf-8"))
    if contract is not None:
        contract.require_same(own, "the environment", str(folder))
    net, eyes = (
        registry.build(kinds, config.get(part, {}), f"{part} of {opened.path / 'config.json'}")
        for part, kinds in (("net", NETS), ("eyes", EYES))
    )
    weights = opened.tensors("model.safetensors")
    for part, module in (("net", net), ("eyes", eyes)):
        own_weights = {k.removeprefix(f"{part}."): v for k, v in weights.items() if k.startswith(f"{part}.")}
        checkpoint.load_state(module, own_weights, opened.path / "model.safetensors")
        module.requires_grad_(False)
    return DiffusionPolicy(net, eyes, own, name=name or folder.name, hash=opened.hash, steps=steps, runtime=runtime)


def new_policy(contract: Contract, eyes: Any | None = None, **sizes: Any) -> DiffusionPolicy:
    """An untrained policy of the contract's dimensions; without ``eyes`` it sees Push-T's key points."""
    canvas_shape(contract)
    eyes = PointEyes(PointConfig(contract.proprio_dim)) if eyes is None else eyes
    places = all(dim.kind == "absolute" for dim in contract.actions)
    config = DenoiserConfig(sight=eyes.dim, action_dim=contract.action_dim, places=places, **sizes)
    return DiffusionPolicy(ActionDenoiser(config), eyes, contract)
