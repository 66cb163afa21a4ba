"""The joint student over key points: gate, teacher and guidance as over the others, and whole chunks at once."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.world_model.simforcing.test_student import closed_gate, generator, guided_calls
from tests.world_model.tiny import SIZE, tiny_contract
from world_model.codecs import PcaConfig, fit_pca
from world_model.diffusion.samplers import EulerConfig, EulerSampler
from world_model.interface import Clip
from world_model.models.forecast import ForecastConfig
from world_model.models.key_points import KeyPointConfig, KeyPointNet
from world_model.models.key_video import KeyPointVideo
from world_model.models.lesson import Places
from world_model.models.sim_student import KeyForcing, KeyForcingConfig
from world_model.models.step_condition import StepConditionConfig
from world_model.models.unet import UNetConfig
from world_model.rollout import Rollout
from world_model.simforcing import ConditionConfig, PairClip, PairLossConfig, Steered
from world_model.simforcing.pairs import mixed

CHANNELS, GRID, LENGTH = 4, (4, 4), 7
VIDEO = KeyPointConfig(
    StepConditionConfig(2, 2, history=2),
    ForecastConfig(state_dim=6, rigid=((0, 3),), hidden=16),
    proprio_points=(0, 1),
    latent_channels=CHANNELS,
    grid=GRID,
    unet=UNetConfig(width=16, deep_width=16, deep_blocks=1, heads=2),
    condition_dim=16,
    pairs=3,
)
LOSS = PairLossConfig(weighting="clean", foreseen=1.0, perturbed=0.1)


def key_student(**fields: object) -> KeyForcing:
    """A small one whose zero layers are opened, so that everything matters."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        made = KeyForcing(KeyForcingConfig(**{"video": VIDEO, "loss": LOSS, **fields}))  # type: ignore[arg-type]
        for parameter in made.parameters():
            if parameter.abs().max() == 0:
                torch.nn.init.normal_(parameter, std=0.1)
    return made


def clip(seed: int = 0, batch: int = 3) -> Clip:
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(batch, *shape, generator=generator)

    numbers = draw(LENGTH, 2).tanh(), draw(LENGTH - 1, 1, 2).tanh()
    valid = torch.ones(batch, LENGTH, dtype=torch.bool)
    return Clip(draw(LENGTH, CHANNELS, *GRID), *numbers, valid, draw(LENGTH, 6).tanh())


def pair() -> PairClip:
    real = clip(1)
    return PairClip(real, replace(clip(2), actions=real.actions, proprio=real.proprio, state=real.state))


def generate(model: object, of: Clip, steps: int = 2) -> Tensor:
    z = torch.randn(len(of.latents), 5, CHANNELS, *GRID, generator=generator())
    sampler = EulerSampler(EulerConfig(steps))
    return sampler.sample(model, of.history(0, 2), of.actions[:, 1:], lambda step: z).latents  # type: ignore[arg-type]


def test_a_closed_gate_is_the_unconditioned_model_bit_for_bit() -> None:
    closed_gate(key_student(), clip(), clip(5).latents, known=2)


def test_an_untrained_condition_changes_nothing() -> None:
    model, side = KeyForcing(KeyForcingConfig(video=VIDEO)), clip()
    assert torch.equal(generate(model, side), generate(Steered(model, clip(5).latents, 1.0), side))


@pytest.mark.parametrize(("guidance", "passes"), [(1.0, 2), (0.0, 2), (0.6, 4)])
def test_guidance_and_its_passes(guidance: float, passes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = guided_calls(generate, key_student(), clip(), clip(5).latents, guidance, monkeypatch)
    assert len(calls) == passes


def test_each_frame_is_told_of_its_own_simulated_frame() -> None:
    model, side, sim = key_student(), clip(), clip(5).latents
    other = sim.clone()
    other[:, 3] += 1
    one, two = (generate(Steered(model, s, 1.0), side, 1) for s in (sim, other))
    changed = (one - two).abs().flatten(2).amax(dim=(0, 2)) > 1e-6
    assert changed.tolist() == [False, True, False, False, False]


def test_gradients_reach_every_injection_and_the_teacher_never_moves() -> None:
    model = key_student(condition=ConditionConfig(present=1.0), misread=0.03)
    model.freeze_teacher()
    before = copy.deepcopy(model._teacher[0].state_dict())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(2):
        optimizer.zero_grad()
        loss, logs = model.loss(pair(), generator())
        more, foreseen = model.sequence_loss(pair(), generator())
        (loss + more).backward()
        assert len(model.told.into) == 3
        for layer in model.told.into.values():
            assert layer.weight.grad is not None
            assert layer.weight.grad.abs().max() > 0
        optimizer.step()
    assert {"flow_real", "flow_sim", "motion_real", "motion_sim", "read_real", "read_sim"} <= set(logs)
    assert {"foreseen", "sequence_last"} <= set(foreseen)
    assert all(torch.equal(value, before[name]) for name, value in model._teacher[0].state_dict().items())
    assert any(not torch.equal(value, before[name]) for name, value in model.video.state_dict().items())


def test_a_student_that_is_its_teacher_has_no_motion_to_learn() -> None:
    model = key_student()
    model.freeze_teacher()
    _, logs = model.sequence_loss(pair(), generator())
    assert logs["foreseen"] == 0
    same = replace(pair(), real=pair().sim)
    _, drawn = key_with(model, misread=0.0, forget=0.0).loss(same, generator())
    assert drawn["motion_sim"] < 1e-3
    model.video.foreseer.change.bias.data += 0.1
    assert model.sequence_loss(pair(), generator())[1]["foreseen"] > 0


def key_with(model: KeyForcing, forget: float, **fields: float) -> KeyForcing:
    """A copy under another configuration."""
    video = replace(VIDEO, forget=forget, state_noise=1e-6)
    other = KeyForcing(replace(model.config, video=video, **fields))
    other.load_state_dict(model.state_dict())
    other._teacher = model._teacher
    return other


def test_each_sequence_is_of_one_domain() -> None:
    sides = pair()
    sides = PairClip(sides.real, replace(sides.sim, proprio=sides.sim.proprio + 1, state=clip(9).state))
    assert torch.equal(mixed(sides, 1.0, generator()).state, sides.real.state)
    assert torch.equal(mixed(sides, 0.0, generator()).proprio, sides.sim.proprio)
    many = PairClip(*(side.map(lambda t: t.repeat(50, *[1] * (t.ndim - 1))) for side in (sides.real, sides.sim)))
    some = mixed(many, 0.8, generator())
    real = (some.proprio == many.real.proprio).all(dim=2).all(dim=1)
    assert torch.equal(real, (some.state == many.real.state).all(dim=2).all(dim=1))
    assert 0.7 < real.float().mean() < 0.9


def test_only_the_told_are_misread_and_bodies_keep_their_shape() -> None:
    video = key_student().video
    side, places = clip(), Places(torch.arange(3), torch.full((3,), 2), torch.full((3,), 4))
    exact, shaken = (
        video.lesson(side, places, generator(), torch.tensor([0.0, d, d])).context.state[:, 0] for d in (0.0, 0.1)
    )
    moved = (shaken - exact).abs().amax(dim=1)
    assert moved[0] < 1e-6
    assert (moved[1:] > 1e-3).all()
    shape = [torch.cdist(*[points.reshape(3, 3, 2)] * 2) for points in (exact, shaken)]
    torch.testing.assert_close(shape[0], shape[1], rtol=1e-4, atol=1e-4)


def test_the_students_own_simulation_takes_the_true_ones_place() -> None:
    sides, places = pair(), Places(torch.tensor([0, 2]), torch.tensor([1, 3]), torch.tensor([2, 5]))
    made = []
    for own in (0.0, 1.0):
        model = key_student(own=own, own_steps=1)
        made.append(model._simulated(sides.sim, places, model.video.lesson(sides.sim, places), generator()))
    assert torch.equal(
        made[0], sides.sim.latents[places.rows[:, None], places.targets[:, None] + torch.tensor([-1, 0])]
    )
    assert torch.equal(made[1][:, 0], made[0][:, 0])
    assert (made[1][:, 1] - made[0][:, 1]).abs().max() > 0.1


def test_a_chunk_is_what_the_frames_are_one_by_one() -> None:
    net = key_student().video
    single = KeyPointNet(VIDEO)
    single.load_state_dict(net.state_dict())
    assert isinstance(net, KeyPointVideo)
    frames = torch.randint(0, 256, (50, SIZE, SIZE, 3), generator=generator(), dtype=torch.uint8)
    codec, rng = fit_pca(frames, PcaConfig(patch=4, channels=CHANNELS)), np.random.default_rng(0)
    given = rng.integers(0, 256, (2, SIZE, SIZE, 3), dtype=np.uint8), rng.uniform(40, 60, (2, 2))
    actions = rng.uniform(40, 60, (2, 6, 1, 2))
    made = []
    for model in (net, single):
        rollout = Rollout(model, codec, tiny_contract(), EulerSampler(EulerConfig(1)), 2)
        state, first = rollout.advance(rollout.start(*given, np.arange(2)), actions[:, :4])
        made.append((first, rollout.advance(state, actions[:, 4:])[1]))
    for whole, by_frame in zip(*made, strict=True):
        assert np.abs(whole.frames.astype(int) - by_frame.frames.astype(int)).max() <= 1
        np.testing.assert_allclose(whole.proprio, by_frame.proprio, atol=1e-2)
        torch.testing.assert_close(whole.state, by_frame.state, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("guidance", [0.0, 0.6, 1.0])
def test_a_batch_is_its_rows(guidance: float) -> None:
    frames = torch.randint(0, 256, (50, SIZE, SIZE, 3), generator=generator(), dtype=torch.uint8)
    codec, rng = fit_pca(frames, PcaConfig(patch=4, channels=CHANNELS)), np.random.default_rng(0)
    rollout = Rollout(key_student(), codec, tiny_contract(), EulerSampler(EulerConfig(1)), 2)
    pictures, proprio = rng.integers(0, 256, (3, SIZE, SIZE, 3), dtype=np.uint8), rng.uniform(0, 100, (3, 2))
    actions, sim = rng.uniform(0, 100, (3, 4, 1, 2)), torch.randn(3, 6, CHANNELS, *GRID, generator=generator())

    def made(rows: slice) -> np.ndarray:
        begun = rollout.start(pictures[rows], proprio[rows], np.arange(3)[rows])
        return rollout.advance(begun, actions[rows], sim[rows], guidance)[1].frames.astype(int)

    together = made(slice(3))
    for i in range(3):
        assert np.abs(made(slice(i, i + 1))[0] - together[i]).max() <= 1
