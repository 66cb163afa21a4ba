"""The joint student: its gate, its frozen teacher, its guidance, its two stages at run time."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from world_model.diffusion.samplers import EulerConfig, EulerSampler
from world_model.errors import InputError
from world_model.interface import Clip
from world_model.models.irasim import IrasimConfig
from world_model.models.joint_student import JointStudent
from world_model.models.lesson import Places
from world_model.models.sim_student import SimForcing, SimForcingConfig
from world_model.simforcing import ConditionConfig, PairClip, PairLossConfig, Steered

VIDEO = IrasimConfig(
    action_dim=2,
    proprio_dim=2,
    latent_channels=4,
    frames=5,
    grid=(4, 4),
    depth=2,
    dim=24,
    heads=2,
    objective="flow",
    known_clean=True,
    dropout=0.0,
)


def student(**fields: object) -> SimForcing:
    """A small one whose zero layers are opened, so that everything matters."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        made = SimForcing(SimForcingConfig(**{"video": VIDEO, **fields}))  # type: ignore[arg-type]
        for parameter in made.parameters():
            if parameter.abs().max() == 0:
                torch.nn.init.normal_(parameter, std=0.1)
    return made


def clip(seed: int = 0, batch: int = 3) -> Clip:
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(batch, *shape, generator=generator)

    return Clip(draw(5, 4, 4, 4), draw(5, 2).tanh(), draw(4, 1, 2).tanh(), torch.ones(batch, 5, dtype=torch.bool))


def pair(batch: int = 3) -> PairClip:
    real = clip(1, batch)
    return PairClip(real, replace(clip(2, batch), actions=real.actions))


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(7)


def generate(model: object, of: Clip, steps: int = 3) -> Tensor:
    z = torch.randn(len(of.latents), 4, 4, 4, 4, generator=generator())
    sampler = EulerSampler(EulerConfig(steps, 5.0))
    return sampler.sample(model, of.history(0, 1), of.actions, lambda step: z).latents  # type: ignore[arg-type]


def closed_gate(model: JointStudent, side: Clip, sim: Tensor, known: int) -> None:
    """Check that a gate of 0 is the model that is not told, and that one of 1 is not."""
    noisy = side.latents[:, known:]
    levels = torch.full(noisy.shape[:2], 0.7)
    given = side.history(0, known), side.actions[:, known - 1 :]
    plain, told = model.condition(*given), model.condition_on(*given, sim)
    shut = replace(told, gate=torch.zeros(len(noisy)))
    made = [model.denoise(noisy, levels, context).latents for context in (plain, shut, told)]
    assert torch.equal(made[0], made[1])
    assert (made[2] - made[0]).abs().max() > 1e-3


def counted_passes(model: JointStudent, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """A list that grows with each pass: whether it was told of the simulator."""
    calls: list[bool] = []
    plain = model.denoise

    def counted(noisy, level, context):  # type: ignore[no-untyped-def]
        calls.append(context.sim is not None)
        return plain(noisy, level, context)

    monkeypatch.setattr(model, "denoise", counted)
    return calls


def guided_calls(
    generate: Callable[..., Tensor],
    model: JointStudent,
    side: Clip,
    sim: Tensor,
    guidance: float,
    monkeypatch: pytest.MonkeyPatch,
) -> list[bool]:
    """The passes of a guided generation; check that a guidance of 0 is the model that is not told."""
    calls = counted_passes(model, monkeypatch)
    made = generate(Steered(model, sim, guidance), side)
    told = list(calls)
    if guidance == 0:
        assert torch.equal(made, generate(model, side))
    return told


def test_a_closed_gate_is_the_unconditioned_model_bit_for_bit() -> None:
    closed_gate(student(), clip(), clip(5).latents, known=1)


def test_an_untrained_condition_changes_nothing() -> None:
    model, side = SimForcing(SimForcingConfig(video=VIDEO)), clip()
    assert torch.equal(generate(model, side), generate(Steered(model, clip(5).latents, 1.0), side))


@pytest.mark.parametrize(("guidance", "passes"), [(1.0, 3), (0.0, 3), (0.6, 6)])
def test_guidance_and_its_passes(guidance: float, passes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = guided_calls(generate, student(), clip(), clip(5).latents, guidance, monkeypatch)
    assert len(calls) == passes
    assert calls.count(True) == (0 if guidance == 0 else 3)


def test_guidance_is_linear_in_one_step() -> None:
    model, side, sim = student(), clip(), clip(5).latents
    off, half, on, beyond = (generate(Steered(model, sim, w), side, 1) for w in (0.0, 0.5, 1.0, 1.5))
    torch.testing.assert_close(half, (off + on) / 2)
    torch.testing.assert_close(beyond, on + (on - off) / 2)


def test_two_stages_by_hand() -> None:
    """Simulated first frame to simulated latents, gate off; real first frame and these to real latents."""
    model, both, w = student(), pair(), 0.6
    z = torch.randn(3, 4, 4, 4, 4, generator=generator())
    levels = [5 * u / (1 + 4 * u) for u in (1.0, 0.5, 0.0)]

    def by_hand(side: Clip, sim: Tensor | None) -> Tensor:
        history, x = side.history(0, 1), z
        off = model.condition(history, side.actions)
        for now, after in pairwise(levels):
            level = torch.full((3, 4), now)
            v = (x - model.denoise(x, level, off).latents) / now
            if sim is not None:
                on = model.condition_on(history, side.actions, sim)
                v = v + w * ((x - model.denoise(x, level, on).latents) / now - v)
            x = x + (after - now) * v
        return x

    first = by_hand(both.sim, None)
    sim = torch.cat([both.sim.latents[:, :1], first], dim=1)
    torch.testing.assert_close(generate(model, both.sim, 2), first, rtol=1e-4, atol=1e-4)
    wanted = by_hand(both.real, sim)
    torch.testing.assert_close(generate(Steered(model, sim, w), both.real, 2), wanted, rtol=1e-4, atol=1e-4)


def test_gradients_reach_every_injection_and_the_teacher_never_moves() -> None:
    model = student(condition=ConditionConfig(present=1.0))
    model.freeze_teacher()
    before = copy.deepcopy(model._teacher[0].state_dict())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        loss, logs = model.loss(pair(), generator())
        loss.backward()
        for layer in model.told.into.values():
            assert layer.weight.grad is not None
            assert layer.weight.grad.abs().max() > 0
        optimizer.step()
    assert {"flow_real", "flow_sim", "motion_real", "motion_sim", "proprio_real"} <= set(logs)
    assert all(torch.equal(value, before[name]) for name, value in model._teacher[0].state_dict().items())
    assert (
        not torch.equal(model.video.head.out.weight, before["head.out.weight"])
        if hasattr(model.video.head, "out")
        else True
    )
    assert not any("teacher" in name for name in model.state_dict())


def test_the_motion_terms_need_the_teacher_and_their_weight() -> None:
    model = student()
    without = model.loss(pair(), generator())
    model.freeze_teacher()
    with_it = model.loss(pair(), generator())
    assert "motion_real" not in without[1]
    assert with_it[0] > without[0]
    silent = student(loss=PairLossConfig(motion=0.0))
    silent.freeze_teacher()
    assert torch.equal(silent.loss(pair(), generator())[0], without[0])


def test_single_clips_train_the_video_model_alone() -> None:
    model = student()
    loss, _ = model.loss(clip(), generator())
    assert torch.equal(loss, model.video.loss(clip(), generator())[0])


def test_the_students_own_simulation_takes_the_true_ones_place() -> None:
    true, own = (student(condition=ConditionConfig((), 1.0, 0.0), own=share) for share in (0.0, 1.0))
    places = Places(torch.arange(3))
    given = [(pair().sim, places, model.video.lesson(pair().sim, places), generator()) for model in (true, own)]
    assert torch.equal(true._simulated(*given[0]), pair().sim.latents)
    made = own._simulated(*given[1])
    assert torch.equal(made[:, 0], pair().sim.latents[:, 0])
    assert (made[:, 1:] - pair().sim.latents[:, 1:]).abs().max() > 0.1
    assert not torch.equal(true.loss(pair(), generator())[0], own.loss(pair(), generator())[0])


def test_known_frames_are_clean_and_say_so() -> None:
    seen: list[Tensor] = []
    model, side = student(), clip()
    plain = model.video.answer

    def watched(frames, times, told, added=None):  # type: ignore[no-untyped-def]
        seen.append(times)
        return plain(frames, times, told, added)

    model.video.answer = watched  # type: ignore[method-assign]
    model.denoise(side.latents[:, 1:], torch.full((3, 4), 0.7), model.condition(side.history(0, 1), side.actions))
    assert seen[0][:, 0].abs().max() == 0
    torch.testing.assert_close(seen[0][:, 1:], torch.full((3, 4), 700.0))


def test_too_few_simulated_frames_are_refused() -> None:
    model, side = student(), clip()
    with pytest.raises(InputError, match="of 3 frames but 5 are known or generated"):
        model.condition_on(side.history(0, 1), side.actions, side.latents[:, :3])
