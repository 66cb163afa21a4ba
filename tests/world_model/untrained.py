"""Push-T's learned simulator with the registered parts at their smallest, untrained: what can be saved and driven."""

import numpy as np
import torch

from teachers.pusht.contract import pusht_contract
from teachers.pusht.teacher import PushTConfig, PushTTeacher
from world_model.codecs import SpaceToDepth, SpaceToDepthConfig
from world_model.diffusion import EulerConfig, EulerSampler
from world_model.heads import OutcomeConfig, OutcomeHeads
from world_model.models import NextFrameConfig, NextFrameNet
from world_model.models.step_condition import StepConditionConfig
from world_model.models.unet import UNetConfig
from world_model.pretrained import LearnedSimulator, Starts


def untrained_pusht(size: int = 64) -> LearnedSimulator:
    teacher = PushTTeacher(PushTConfig(size=size))
    names = ("seed-1", "near-2", "near-800018")
    seen = [teacher.reset(name) for name in names]
    grid = (size // 4, size // 4)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        step = StepConditionConfig(2, 2, relative=((0, 0), (1, 1)))
        unet = UNetConfig(width=16, deep_width=16, deep_blocks=1, heads=2)
        model = NextFrameNet(NextFrameConfig(step, latent_channels=48, grid=grid, unet=unet, condition_dim=32))
        heads = OutcomeHeads(OutcomeConfig(latent_channels=48, grid=grid, width=8, squeeze=2, hidden=8, dilations=(1,)))
    return LearnedSimulator(
        model=model.eval().requires_grad_(False),
        codec=SpaceToDepth(SpaceToDepthConfig()).eval(),
        contract=pusht_contract(size),
        sampler=EulerSampler(EulerConfig(steps=1)),
        history=3,
        heads=heads.eval().requires_grad_(False),
        starts=Starts(names, np.stack([s.frames["top"] for s in seen]), np.stack([s.proprio for s in seen])),
    )
