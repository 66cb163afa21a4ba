"""What all published video models promise here: interface, loss on new frames alone, withheld actions, guidance."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from tests.world_model.models.video import FORMS, clip, make
from world_model.diffusion import EulerConfig, EulerSampler, SchedulerConfig, SchedulerSampler
from world_model.diffusion.flow import add_noise
from world_model.errors import DataError, InputError
from world_model.interface import Clip, History
from world_model.models import MODELS
from world_model.models.video_diffusion import whole_trajectory
from world_model.registry import build_config


def denoise(model: Any, data: Clip, *, actions: torch.Tensor | None = None, first: int = 1) -> torch.Tensor:
    actions = data.actions[:, first - 1 :] if actions is None else actions
    noisy = torch.randn(3, actions.shape[1], 4, 8, 12, generator=torch.Generator().manual_seed(5))
    levels = torch.full(noisy.shape[:2], 0.6)
    with torch.no_grad():
        return model.denoise(noisy, levels, model.condition(data.history(0, first), actions)).latents


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("objective", ["ddpm", "flow", "clean"])
def test_shapes_and_gradients(form: str, objective: str) -> None:
    model, data = make(form, objective=objective, dropout=0.5), clip()
    generator = torch.Generator().manual_seed(1)
    for _ in range(3):
        loss, logs = model.loss(data, generator)
        loss.backward()
    assert torch.isfinite(loss)
    assert set(logs) == {"answer", "proprio", "log_error"}
    without = [n for n, p in model.named_parameters() if p.grad is None or not p.grad.abs().sum()]
    assert without == []
    made = model.denoise(
        torch.randn(3, 4, 4, 8, 12), torch.ones(3, 4), model.condition(data.history(0, 1), data.actions)
    )
    assert made.latents.shape == (3, 4, 4, 8, 12)
    assert made.proprio.shape == (3, 4, 2)
    assert made.log_error.shape == (3, 4)


@pytest.mark.parametrize("form", FORMS)
def test_actions_and_known_frames_matter(form: str) -> None:
    model, data = make(form), clip()
    plain = denoise(model, data)
    assert torch.equal(plain, denoise(model, data))
    other = clip(seed=9)
    assert (plain - denoise(model, data, actions=other.actions)).abs().max() > 1e-3
    assert (plain - denoise(model, replace(data, latents=other.latents))).abs().max() > 1e-3


@pytest.mark.parametrize("form", FORMS)
def test_the_loss_is_the_error_of_the_noise_on_new_frames_alone(form: str) -> None:
    """Restated: known frame clean, noise of the schedule on the others, mean squared error of the answer for these."""
    model, data = make(form, proprio_dim=0, dropout=0.0), clip()
    loss, _ = model.loss(data, torch.Generator().manual_seed(4))
    generator = torch.Generator().manual_seed(4)
    steps = torch.randint(1000, (3, 1), generator=generator)
    noise = torch.randn(3, 4, 4, 8, 12, generator=generator)
    signal = model.objective.signal[steps].float()[:, :, None, None, None]
    noised = signal.sqrt() * data.latents[:, 1:] + (1 - signal).sqrt() * noise
    frames = torch.cat([data.latents[:, :1], noised], dim=1)
    real, told = torch.ones(3, 4, dtype=torch.bool), torch.zeros(3, dtype=torch.bool)
    answer = model.answer(frames, steps.expand(3, 5).float(), model.embed(data.actions.flatten(2), real, told))
    torch.testing.assert_close(loss, (answer.latents[:, 1:] - noise).square().mean(), rtol=0, atol=1e-3)


@pytest.mark.parametrize("form", FORMS)
def test_clean_latents_are_told_by_their_change_and_weighted(form: str) -> None:
    """Restated: the answer is added to the last known frame, and channels count as the codec says."""
    fields = {"proprio_dim": 0, "dropout": 0.0, "history": 2, "objective": "clean", "noise": {"pure": 1.0}}
    free, model = (make(form, **fields, channel_weights=(4, 1, 1, 2), anchored=on) for on in (False, True))
    data, noise = clip(), torch.randn(3, 3, 4, 8, 12, generator=torch.Generator().manual_seed(5))
    context, ones = model.condition(data.history(0, 2), data.actions[:, 1:]), torch.ones(3, 3)
    with torch.no_grad():
        change, made = (m.denoise(noise, ones, context).latents for m in (free, model))
    torch.testing.assert_close(made, data.latents[:, 1:2] + change)
    generator, again = (torch.Generator().manual_seed(4) for _ in range(2))
    loss, _ = model.loss(data, generator)
    torch.rand((3, 1), generator=again), torch.rand((3, 1), generator=again)  # levels, all of them 1
    noise = torch.randn(3, 3, 4, 8, 12, generator=again)
    with torch.no_grad():
        wrong = model.denoise(noise, ones, context).latents - data.latents[:, 2:]
    weights = torch.tensor([2, 0.5, 0.5, 1])[:, None, None]
    torch.testing.assert_close(loss, (weights * wrong.square()).mean())


@pytest.mark.parametrize("form", FORMS)
def test_withheld_actions_do_not_matter(form: str) -> None:
    model, data, other = make(form), clip(), clip(seed=9)
    noisy, levels = torch.randn(3, 4, 4, 8, 12), torch.full((3, 4), 0.5)
    with torch.no_grad():
        free = [
            model.denoise(noisy, levels, model.unconditioned(data.history(0, 1), a)).latents
            for a in (data.actions, other.actions)
        ]
        told = model.denoise(noisy, levels, model.condition(data.history(0, 1), data.actions)).latents
    assert torch.equal(*free)
    assert (free[0] - told).abs().max() > 1e-3


def test_a_tenth_of_the_clips_is_trained_without_actions() -> None:
    model, seen = make("frame"), []
    embed = model.embed
    model.embed = lambda actions, real, withheld: (seen.append(withheld), embed(actions, real, withheld))[1]
    generator = torch.Generator().manual_seed(0)
    for _ in range(20):
        model.loss(clip(batch=20), generator)
    assert 0.06 < torch.cat(seen).float().mean() < 0.14


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("known", [1, 2, 3, 4])
def test_one_to_four_known_frames(form: str, known: int) -> None:
    model, data = make(form, frames=7, history=known), clip(frames=7)
    assert model.chunk == 7 - known
    assert torch.isfinite(model.loss(data, torch.Generator().manual_seed(0))[0])
    made = denoise(model, data, first=known)
    assert made.shape[1] == 7 - known
    if known > 1:  # an action between known frames counts, one before the first real frame does not
        changed = replace(data, actions=torch.cat([-data.actions[:, :1], data.actions[:, 1:]], dim=1))
        assert not torch.equal(made, denoise(model, changed, first=known))
        valid = torch.cat([torch.zeros_like(data.valid[:, :1]), data.valid[:, 1:]], dim=1)
        padded = [denoise(model, replace(d, valid=valid), first=known) for d in (data, changed)]
        assert torch.equal(*padded)
        assert not torch.equal(made, padded[0])


@pytest.mark.parametrize("form", FORMS)
def test_a_shorter_history_and_chunk_than_trained(form: str) -> None:
    model, data = make(form, frames=7, history=3), clip(frames=5)
    assert denoise(model, data, first=1).shape[1] == 4
    assert denoise(model, data, actions=data.actions[:, 2:3], first=3).shape[1] == 1


@pytest.mark.parametrize("form", ["video", "unet", "frame_trajectory"])
def test_more_frames_than_the_embedding_is_made_for(form: str) -> None:
    with pytest.raises(InputError, match="6 frames were asked for at once but this model's embedding is of 4 actions"):
        denoise(make(form), clip(frames=6))


def test_frame_ada_takes_any_number_of_frames() -> None:
    assert denoise(make("frame"), clip(frames=12)).shape[1] == 11


def test_a_short_trajectory_repeats_its_last_action() -> None:
    actions = torch.tensor([[[1.0], [2.0]]])
    assert whole_trajectory(actions, torch.ones(1, 2, dtype=torch.bool), 4).flatten().tolist() == [1, 2, 2, 2]
    assert whole_trajectory(actions, torch.tensor([[False, True]]), 3).flatten().tolist() == [0, 2, 2]


@pytest.mark.parametrize("form", FORMS)
def test_waves_of_the_actions(form: str) -> None:
    """What is embedded: each number, then its waves."""
    model, data, seen = make(form, action_octaves=3), clip(), []
    embed = model.embed
    model.embed = lambda actions, real, withheld: (seen.append(actions), embed(actions, real, withheld))[1]
    denoise(model, data)
    plain = data.actions.flatten(2)
    assert seen[0].shape == (3, 4, 2 * 7)
    torch.testing.assert_close(seen[0][..., :2], plain)
    torch.testing.assert_close(seen[0][..., 2:5], (torch.pi * 2.0 ** torch.arange(3) * plain[..., :1]).sin())


@pytest.mark.parametrize("actions", [2, 4, 5, 7])
@pytest.mark.parametrize("form", ["frame", "video", "unet"])
def test_action_widths(form: str, actions: int) -> None:
    data = clip(actions=actions)
    assert torch.isfinite(make(form, action_dim=actions).loss(data, torch.Generator().manual_seed(0))[0])


def test_without_a_readout_the_proprio_stays() -> None:
    model, data = make("frame", proprio_dim=0), clip()
    made = model.denoise(
        torch.randn(3, 4, 4, 8, 12), torch.ones(3, 4), model.condition(data.history(0, 1), data.actions)
    )
    assert torch.equal(made.proprio, data.proprio[:, :1].expand(-1, 4, -1))
    assert not made.log_error.any()


@pytest.mark.parametrize("form", ["frame", "video", "unet"])
def test_overfits_one_clip_and_samples_it(form: str) -> None:
    """From the first frame and the actions both kinds of sampler find the plain colours that were learned."""
    pytest.importorskip("diffusers")
    model, data = make(form, proprio_dim=0, dropout=0.0, objective="flow"), clip(batch=1)
    colours = data.latents[..., :1, :1].expand(4, -1, -1, 8, 12)
    data = replace(data.map(lambda t: t.expand(4, *t.shape[1:])), latents=colours)
    optimizer, generator = torch.optim.AdamW(model.parameters(), lr=3e-3), torch.Generator().manual_seed(0)
    for _ in range(60):
        loss, _ = model.loss(data, generator)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    noise = torch.randn(4, 4, 4, 8, 12, generator=generator)
    with torch.no_grad():
        for sampler in (EulerSampler(EulerConfig(8)), SchedulerSampler(SchedulerConfig("ddim", 12))):
            made = sampler.sample(model, data.history(0, 1), data.actions, lambda k: noise).latents
            assert (made - colours[:, 1:]).square().mean() < 0.4 * colours[:, 1:].square().mean()


def test_history_and_known_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Known frames are clean in the input and have the time of the others."""
    model, data, seen = make("frame"), clip(), {}

    def answer(frames: torch.Tensor, times: torch.Tensor, told: Any) -> Any:
        seen.update(frames=frames, times=times)
        return type(model).answer(model, frames, times, told)

    monkeypatch.setattr(model, "answer", answer)
    noise, levels = torch.randn(3, 4, 4, 8, 12), torch.full((3, 4), 0.3)
    context = model.condition(
        History(data.latents[:, :1], data.proprio[:, :1], data.actions[:, :0], data.valid[:, :1]), data.actions
    )
    model.denoise(add_noise(data.latents[:, 1:], noise, levels), levels, context)
    assert torch.equal(seen["frames"][:, 0], data.latents[:, 0])
    assert len(seen["times"].unique()) == 1


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"history": 5}, "history is 5 of 5 frames"),
        ({"grid": (7, 12)}, r"grid is \(7, 12\), which patches of 2 do not fill"),
        ({"heads": 5}, "dim is 32 with 5 heads"),
        ({"depth": 3}, "depth even"),
        ({"conditioning": "text"}, "'conditioning' is 'text'"),
        ({"dropout": 1.5}, "dropout is 1.5"),
        ({"anchored": True}, "anchored is on with the objective 'ddpm'"),
    ],
)
def test_sizes_that_cannot_be(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(DataError, match=text):
        build_config(MODELS, {**FORMS["frame"], **changes}, "recipe 'x'")


def test_a_limit_keeps_clean_estimates_within_it() -> None:
    data, noisy, ones = clip(), torch.randn(3, 4, 4, 8, 12), torch.ones(3, 4)
    free, kept = (make("frame", limit=limit) for limit in (0.0, 3.0))
    wild, tame = (m.denoise(noisy, ones, m.condition(data.history(0, 1), data.actions)).latents for m in (free, kept))
    assert wild.abs().max() > 3
    assert torch.equal(tame, wild.clamp(-3, 3))
