"""Untrained Push-T parts: of the right shapes, quick to make, and as good as any for what is exact."""

import torch

from simforcing_env.policies.diffusion import DiffusionPolicy, new_policy
from simforcing_env.policies.eyes import PixelConfig, PixelEyes
from teachers.pusht.contract import pusht_contract
from world_model.initial import initialise


def small_policy(pixels=False, horizon=8):
    """A diffusion policy with drawn weights."""
    eyes = PixelEyes(PixelConfig(width=8, features=6)) if pixels else None
    policy = new_policy(pusht_contract(), eyes, horizon=horizon, width=32, layers=1, sample_steps=2)
    initialise(policy.net, torch.Generator().manual_seed(0))
    policy.net.spread.fill_(0.1)
    return DiffusionPolicy(policy.net, policy.eyes, policy.contract, name="small")
