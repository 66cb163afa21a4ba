"""Noise levels, losses and samplers; ``SAMPLERS`` maps a kind to its configuration and class."""

from world_model.diffusion.samplers import EulerConfig, EulerSampler, RenoiseConfig, RenoiseSampler

SAMPLERS = {"euler": (EulerConfig, EulerSampler), "renoise": (RenoiseConfig, RenoiseSampler)}
