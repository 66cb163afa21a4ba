"""Every model form: interface, learning, and what each of them promises."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from world_model.diffusion import EulerConfig, EulerSampler, RenoiseConfig, RenoiseSampler
from world_model.errors import DataError, InputError
from world_model.interface import Clip, History
from world_model.models import MODELS
from world_model.registry import build

STEP = {"action_dim": 2, "proprio_dim": 2, "history": 3, "relative": ((0, 0), (1, 1))}
FRAME = {"action_dim": 2, "proprio_dim": 2, "relative": ((0, 0), (1, 1))}
SMALL = {"latent_channels": 4, "grid": (8, 8)}
UNET = {"width": 16, "deep_width": 32, "deep_blocks": 1}
CONV = {"step": STEP, **SMALL, "unet": UNET, "condition_dim": 32, "proprio_points": (0, 1)}
DIT = {"kind": "transformer", "condition": FRAME, **SMALL, "depth": 4, "dim": 32, "heads": 4, "stem_width": 16}
FORMS: dict[str, dict[str, Any]] = {
    "a": {**DIT, "order": "chunk"},
    "b": {**DIT, "order": "causal", "context_frames": 6},
    "c": {**DIT, "order": "causal", "context_frames": 6, "stem": "conv"},
    "d": {**CONV, "kind": "next_frame", "rollout": 0.0},
    "e": {**CONV, "kind": "key_points", "forecast": {"state_dim": 4, "relative": ((0, 0),), "hidden": 64}},
}


def make(form: str, **changes: Any) -> Any:
    """A form whose weights are all drawn, the zero-initialised ones too, so that nothing is trivially equal."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = build(MODELS, {**FORMS[form], **changes}, "test")
        if form == "e":
            torch.nn.init.normal_(model.encode_condition)
        for parameter in model.parameters():
            if parameter.ndim > 1:
                torch.nn.init.normal_(parameter, std=0.7 / parameter[0].numel() ** 0.5)
    return model


def clip(batch: int = 4, frames: int = 7, seed: int = 0) -> Clip:
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator)

    return Clip(
        draw(batch, frames, 4, 8, 8),
        draw(batch, frames, 2).tanh(),
        draw(batch, frames - 1, 1, 2).tanh(),
        torch.ones(batch, frames, dtype=torch.bool),
        draw(batch, frames, 4).tanh(),
    )


@pytest.mark.parametrize("form", FORMS)
def test_shapes_and_gradients(form: str) -> None:
    model, data = make(form), clip()
    loss, logs = model.loss(data, torch.Generator().manual_seed(1))
    if form == "e":
        loss = loss + model.sequence_loss(data, torch.Generator().manual_seed(1))[0]
    loss.backward()
    assert torch.isfinite(loss)
    assert all(torch.isfinite(v) for v in logs.values())
    without = [n for n, p in model.named_parameters() if p.grad is None or not p.grad.abs().sum()]
    assert not [n for n in without if "unknown" not in n], without
    context = model.condition(data.history(0, 3), data.actions[:, 2:3])
    made = model.denoise(torch.randn(4, 1, 4, 8, 8), torch.ones(4, 1), context)
    assert made.latents.shape == (4, 1, 4, 8, 8)
    assert made.proprio.shape == (4, 1, 2)
    assert made.log_error.shape == (4, 1)


@pytest.mark.parametrize("form", FORMS)
def test_actions_history_and_noise_matter(form: str) -> None:
    model, data = make(form).eval(), clip()
    noise = torch.randn(4, 1, 4, 8, 8, generator=torch.Generator().manual_seed(3))

    @torch.no_grad()
    def generate(history: History, actions: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        return EulerSampler(EulerConfig(steps=2)).sample(model, history, actions, lambda _: z).latents

    plain = generate(data.history(0, 3), data.actions[:, 2:3], noise)
    assert torch.equal(plain, generate(data.history(0, 3), data.actions[:, 2:3], noise))
    for other in (
        generate(data.history(0, 3), -data.actions[:, 2:3], noise),
        generate(data.history(1, 4), data.actions[:, 2:3], noise),
        generate(data.history(0, 3), data.actions[:, 2:3], -noise),
    ):
        assert (plain - other).abs().max() > 1e-5


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("length", [1, 2, 3, 5])
def test_history_length_is_free(form: str, length: int) -> None:
    model, data = make(form), clip()
    context = model.condition(data.history(5 - length, 5), data.actions[:, 4:5])
    assert torch.isfinite(model.denoise(torch.randn(4, 1, 4, 8, 8), torch.ones(4, 1), context).latents).all()


@pytest.mark.parametrize("form", ["b", "c"])
def test_causal_training_in_parallel_equals_generation_one_by_one(form: str) -> None:
    model, data = make(form).eval(), clip()
    levels, noisy = torch.rand(4, 6), torch.randn(4, 6, 4, 8, 8)
    with torch.no_grad():
        together = model._causal_parallel(data, noisy, levels)
        for k in range(1, 7):
            context = model.condition(data.history(0, k), data.actions[:, k - 1 : k])
            alone = model.denoise(noisy[:, k - 1 : k], levels[:, k - 1 : k], context)
            torch.testing.assert_close(alone.latents[:, 0], together.latents[:, k - 1], rtol=0, atol=1e-4)
            torch.testing.assert_close(alone.proprio[:, 0], together.proprio[:, k - 1], rtol=0, atol=1e-4)


@pytest.mark.parametrize("form", ["b", "c"])
def test_causal_frames_never_see_the_future(form: str) -> None:
    model, data = make(form).eval(), clip()
    levels, noisy = torch.rand(4, 6), torch.randn(4, 6, 4, 8, 8)
    changed = data.map(lambda t: torch.cat([t[:, :4], torch.flip(t[:, 4:], [0])], dim=1))
    with torch.no_grad():
        one, two = (model._causal_parallel(d, noisy, levels).latents for d in (data, changed))
    assert torch.equal(one[:, :3], two[:, :3])
    assert not torch.equal(one[:, 5], two[:, 5])


def test_chunk_form_takes_any_chunk_length() -> None:
    model, data = make("a"), clip(frames=12)
    for n in (1, 4, 9):
        context = model.condition(data.history(0, 3), data.actions[:, 2 : 2 + n])
        made = model.denoise(torch.randn(4, n, 4, 8, 8), torch.ones(4, n), context)
        assert made.latents.shape[1] == n


@pytest.mark.parametrize(("form", "changes"), [("d", {}), ("d", {"rollout": 1.0}), ("e", {}), ("a", {}), ("c", {})])
def test_overfits_one_batch(form: str, changes: dict[str, Any]) -> None:
    model, data = make(form, **changes), clip(batch=2, frames=5)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    generator = torch.Generator().manual_seed(0)
    losses = []
    for _ in range(60):
        loss, _ = model.loss(data, generator)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert sum(losses[-5:]) < 0.8 * sum(losses[:5])


def test_sequence_loss_learns_and_needs_a_state() -> None:
    model, data = make("e"), clip(batch=8, frames=6)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    generator = torch.Generator().manual_seed(0)
    losses = []
    for _ in range(40):
        loss, _ = model.sequence_loss(data, generator)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]
    bare = Clip(data.latents, data.proprio, data.actions, data.valid)
    with pytest.raises(InputError, match="key points of the teacher's state"):
        model.sequence_loss(bare, generator)
    with pytest.raises(InputError, match="state_dim is 0"):
        make("e", forecast={"state_dim": 0})


def test_own_rollout_feeds_back_what_was_made() -> None:
    """The second step of an own rollout sees the first step's frame, not the true one."""
    model, data = make("d", rollout=1.0), clip(batch=2, frames=5)
    seen: list[torch.Tensor] = []
    condition = model.condition
    model.condition = lambda history, actions: (seen.append(history.latents), condition(history, actions))[1]
    model.loss(data, torch.Generator().manual_seed(0))
    assert len(seen) == 2
    assert torch.equal(seen[1][:, :2], data.latents[:, 1:3])
    assert not torch.equal(seen[1][:, 2], data.latents[:, 3])


def test_pairs_align_actions_with_targets() -> None:
    """The last action given for a target is the one that led to it; the proprio is that of the frames before."""
    model, data = make("e"), clip(frames=9)
    places = model.draw_places(data, torch.Generator().manual_seed(0))
    row, anchors, targets = places.rows, places.anchors, places.targets
    assert torch.equal(row, torch.arange(4).repeat_interleave(model.config.pairs))
    history, actions = model._before(data, row, targets)
    assert torch.equal(actions[:, 0], data.actions[row, targets - 1])
    assert torch.equal(history.proprio[:, -1], data.proprio[row, targets - 1])
    assert torch.equal(history.actions[:, -1], data.actions[row, targets - 2])
    assert anchors.min() >= 2
    assert anchors.max() <= 8


def test_pairs_share_anchors_in_turn() -> None:
    model, data = make("e", pairs=6, anchors=2), clip(frames=9)
    anchors = model.draw_places(data, torch.Generator().manual_seed(0)).anchors.reshape(4, 2, 3)
    assert (anchors == anchors[..., :1]).all()
    assert len(anchors.unique()) > 2
    looked: list[int] = []
    plain = model.look
    model.look = lambda latents, proprio: looked.append(len(latents)) or plain(latents, proprio)
    loss, _ = model.loss(data, torch.Generator().manual_seed(0))
    assert looked == [8]
    assert torch.isfinite(loss)
    with pytest.raises(DataError, match="pairs is 6, which 4 anchors cannot share"):
        make("e", pairs=6, anchors=4)


def test_gates_wipe_out_the_anchor_or_keep_it() -> None:
    """A gate that is shut leaves nothing of the anchor; one that is open adds the drawing to it."""
    model, data = make("e", gated=True).eval(), clip()
    torch.nn.init.zeros_(model.drawer.out.weight)
    drawn = torch.linspace(-1, 1, 4)
    noise = torch.randn(4, 1, 4, 8, 8)
    for bias, kept in ((-50.0, 0.0), (0.0, 0.5), (50.0, 1.0)):
        with torch.no_grad():
            model.drawer.out.bias.copy_(torch.cat([drawn, torch.tensor([bias])]))
            context = model.condition(data.history(0, 3), data.actions[:, 2:3])
            made = model.denoise(noise, torch.ones(4, 1), context).latents[:, 0]
        torch.testing.assert_close(made, kept * data.latents[:, 2] + drawn[:, None, None])
    with pytest.raises(DataError, match="gated"):
        make("e", gated=True, prediction="v")


def test_drawing_never_sees_generated_frames() -> None:
    """Whatever the later history frames show, a model with its memory draws the same."""
    model, data = make("e").eval(), clip()
    z = torch.randn(4, 1, 4, 8, 8)
    with torch.no_grad():
        first = model.denoise(z, torch.ones(4, 1), model.condition(data.history(0, 3), data.actions[:, 2:3]))
        later = replace(data.history(1, 4), memory=first.memory[:, 0])
        spoiled = replace(later, latents=torch.randn_like(later.latents))
        one, two = (
            model.denoise(z, torch.ones(4, 1), model.condition(h, data.actions[:, 3:4])).latents
            for h in (later, spoiled)
        )
    assert torch.equal(one, two)


@pytest.mark.parametrize(
    ("sampler", "calls"),
    [
        (EulerSampler(EulerConfig(1)), 1),
        (EulerSampler(EulerConfig(4)), 4),
        (RenoiseSampler(RenoiseConfig((0.5, 0.2))), 3),
    ],
)
def test_samplers_reach_a_constant_answer(sampler: Any, calls: int) -> None:
    """A model that always answers x must be sampled to x, by exactly ``sampler.steps`` calls at falling levels."""
    levels: list[float] = []

    class Constant:
        def condition(self, history: Any, actions: Any) -> None:
            return None

        def denoise(self, noisy: torch.Tensor, level: torch.Tensor, context: None) -> Any:
            from world_model.interface import Denoised

            levels.append(float(level[0, 0]))
            return Denoised(torch.full_like(noisy, 0.25), torch.zeros(2, 1, 2), torch.zeros(2, 1))

    made = sampler.sample(Constant(), None, None, lambda k: torch.randn(2, 1, 4, 8, 8))
    assert torch.equal(made.latents, torch.full_like(made.latents, 0.25))
    assert len(levels) == calls == sampler.steps
    assert levels[0] == 1.0
    assert levels == sorted(levels, reverse=True)
