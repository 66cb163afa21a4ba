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
from simforcing_env.policies.policy import Observation, Task, batch_size, generators
from simforcing_env.spaces import PROPRIO_KEYS, image_keys
from world_model import checkpoint, registry
from world_model.canvas import canvas_shape, join
from world_model.contract import Contract
from world_model.errors import ContractError, InputError

NETS: registry.Registry = {"diffusion": (DenoiserConfig, ActionDenoiser)}
_SALT = 6


class DiffusionPolicy:
    """A `Policy` that can also propose many chunks for one moment, which planners rank.

    Args:
        name: for people.
        hash: of its folder; "unsaved" before it has one.
        steps: of the sampler; None keeps the network's own.
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
    ) -> None:
        if contract.action_dim != net.config.action_dim or eyes.dim != net.config.sight:
            raise ContractError(
                f"the policy takes {net.config.sight} numbers and gives actions of {net.config.action_dim} but its "
                f"eyes give {eyes.dim} and contract {contract.name!r} takes {contract.action_dim}; build it anew"
            )
        self.net, self.eyes, self.contract = net.eval(), eyes.eval(), contract
        self.name, self.hash, self.steps = name, hash, steps
        self.sample_steps = steps or net.config.sample_steps
        self._generators: list[np.random.Generator] = []
        self._tasks: Tensor | None = None

    @property
    def horizon(self) -> int:
        return self.net.config.horizon

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
        tasks = None if self._tasks is None else self._tasks.repeat_interleave(len(frames) // len(self._tasks))
        seen: Tensor = self.eyes(torch.from_numpy(np.ascontiguousarray(frames)), torch.from_numpy(proprio), tasks)
        return seen

    def chunks(self, sight: Tensor, noise: Tensor, steps: int | None = None) -> Tensor:
        """Normalised chunks ``(K, k, n, A)`` for ``sight`` ``(K, F)`` and noise of that shape, in so many steps."""
        rows = sight[:, None].expand(-1, noise.shape[1], -1).flatten(0, 1)
        return self.net.sample(rows, noise.flatten(0, 1), steps or self.sample_steps).view_as(noise)

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
    folder: Path, contract: Contract | None = None, steps: int | None = None, name: str | None = None
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
    return DiffusionPolicy(net, eyes, own, name=name or folder.name, hash=opened.hash, steps=steps)


def new_policy(contract: Contract, eyes: Any | None = None, **sizes: Any) -> DiffusionPolicy:
    """An untrained policy of the contract's dimensions; without ``eyes`` it sees Push-T's key points."""
    canvas_shape(contract)
    eyes = PointEyes(PointConfig(contract.proprio_dim)) if eyes is None else eyes
    places = all(dim.kind == "absolute" for dim in contract.actions)
    config = DenoiserConfig(sight=eyes.dim, action_dim=contract.action_dim, places=places, **sizes)
    return DiffusionPolicy(ActionDenoiser(config), eyes, contract)
