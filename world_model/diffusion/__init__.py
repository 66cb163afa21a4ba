"""Noise levels, losses and samplers; ``SAMPLERS`` maps a kind to its configuration and class."""

from world_model.diffusion.guidance import GuidedConfig, GuidedSampler
from world_model.diffusion.samplers import EulerConfig, EulerSampler, RenoiseConfig, RenoiseSampler
from world_model.diffusion.schedulers import SchedulerConfig, SchedulerSampler

SAMPLERS = {
    "euler": (EulerConfig, EulerSampler),
    "renoise": (RenoiseConfig, RenoiseSampler),
    "diffusers": (SchedulerConfig, SchedulerSampler),
    "guided": (GuidedConfig, GuidedSampler),
}
