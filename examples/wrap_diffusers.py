"""Wrap somebody else's video model as a world model: the transformer of Wan 2.2 from diffusers, tiny and untrained.

python examples/wrap_diffusers.py --frames 6

What it takes is the class below. Everything else (rollouts, 8-bit histories, noise of an episode, samplers, guidance,
training) then works with it as it does with our own models. Needs the extra "diffusers".
"""

import argparse
from typing import ClassVar

import numpy as np
import torch
from diffusers import WanTransformer3DModel
from torch import nn

from world_model.codecs import SpaceToDepth, SpaceToDepthConfig
from world_model.contract import Camera, Contract, Dimension, Normalizer
from world_model.diffusion import EulerConfig, EulerSampler
from world_model.diffusion.flow import add_noise, draw_noise
from world_model.interface import Clip, Denoised, History
from world_model.rollout import Rollout


class WanWorldModel(nn.Module):
    """Known frames stand in front at time 0, as Wan 2.2 takes a first frame; actions stand where text would."""

    frames_per_call: ClassVar[int] = 0  # any number of frames at once

    def __init__(self, wan: WanTransformer3DModel, action_dim: int) -> None:
        super().__init__()
        self.wan = wan
        self.embed = nn.Linear(action_dim, wan.config.text_dim)

    def condition(self, history: History, actions: torch.Tensor) -> tuple[History, torch.Tensor]:
        """What does not depend on noise, once a generation; ``actions`` ``(B, n, a, A)`` in [-1, 1]."""
        return history, self.embed(actions.flatten(2))

    def denoise(self, noisy: torch.Tensor, noise_level: torch.Tensor, context: tuple) -> Denoised:
        """``noisy`` ``(B, n, C, U, V)`` = (1 - s) clean + s noise at levels s ``(B, n)``, to clean frames."""
        history, told = context
        known = history.latents.shape[1]
        frames = torch.cat([history.latents, noisy], dim=1).transpose(1, 2)  # (B, C, F, U, V)
        levels = torch.cat([torch.zeros_like(history.proprio[..., 0]), noise_level], dim=1)  # (B, F)
        tokens = frames.shape[-2] * frames.shape[-1] // 4  # of a frame, in patches of 2 x 2
        times = 1000 * levels.repeat_interleave(tokens, dim=1)
        velocity = self.wan(frames, times, told, return_dict=False)[0].transpose(1, 2)[:, known:]
        clean = noisy - noise_level[:, :, None, None, None] * velocity
        last = history.proprio[:, -1:].expand(-1, noisy.shape[1], -1)  # Wan tells no proprio: it stays
        return Denoised(clean, last, torch.zeros_like(noise_level))

    def loss(self, clip: Clip, generator: torch.Generator) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """Flow matching on the frames after the first; the model owns its loss."""
        target = clip.latents[:, 1:]
        levels = torch.rand(len(target), 1, generator=generator).expand(-1, target.shape[1])
        noisy = add_noise(target, draw_noise(target, generator), levels)
        made = self.denoise(noisy, levels, self.condition(clip.history(0, 1), clip.actions))
        error = ((made.latents - target) / levels[:, :, None, None, None].clamp_min(0.05)).square().mean()
        return error, {"velocity": error.detach()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=6, help="frames to generate")
    parser.add_argument("--steps", type=int, default=3, help="steps of training, on noise")
    args = parser.parse_args()

    axes = tuple(Dimension(name, "px", 0.0, 64.0) for name in ("x", "y"))
    bounds = Normalizer("bounds", (0.0, 0.0), (64.0, 64.0), (0.0, 0.0), (64.0, 64.0))
    contract = Contract("toy", (Camera("top", 64, 64),), 10.0, 1, axes, axes, bounds)
    codec = SpaceToDepth(SpaceToDepthConfig(8))  # an `AutoencoderKLWan` is one too: world_model.codecs.read_autoencoder
    size = {"num_attention_heads": 2, "attention_head_dim": 12, "ffn_dim": 32, "num_layers": 2, "text_dim": 32}
    channels = codec.latent_channels
    with torch.random.fork_rng():  # diffusers draws first weights from torch's own generator
        torch.manual_seed(0)
        wan = WanTransformer3DModel(
            in_channels=channels, out_channels=channels, freq_dim=32, rope_max_seq_len=64, **size
        )
        model = WanWorldModel(wan, contract.action_dim)

    generator, rng = torch.Generator().manual_seed(0), np.random.default_rng(0)
    pictures = torch.from_numpy(rng.integers(0, 256, (2, 5, 64, 64, 3), dtype=np.uint8))
    valid = torch.ones(2, 5, dtype=torch.bool)
    clip = Clip(codec.encode(pictures), torch.zeros(2, 5, 2), torch.rand(2, 4, 1, 2, generator=generator), valid)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(args.steps):
        loss, _ = model.loss(clip, generator)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step}: loss {loss.item():.3f}")

    rollout = Rollout(model.eval(), codec, contract, EulerSampler(EulerConfig(4)), history=1)
    state = rollout.start(pictures[:, 0].numpy(), np.full((2, 2), 32.0), seeds=np.array([0, 1]))
    _, made = rollout.advance(state, rng.uniform(0, 64, (2, args.frames, 1, 2)).astype(np.float32))
    print(f"generated frames {made.frames.shape} {made.frames.dtype}")


if __name__ == "__main__":
    main()
