import dataclasses

import numpy as np
import pytest
import torch

from tests.world_model.tiny import SIZE, TinyChunkModel, TinyCodec, TinyModel, tiny_contract
from world_model.diffusion import RenoiseConfig, RenoiseSampler
from world_model.errors import DataError, InputError
from world_model.interface import Denoised
from world_model.rollout import Rollout
from world_model.runtime import Runtime, has_bfloat16


def make(model=None, history=3, actions_per_frame=1, **options) -> Rollout:
    return Rollout(
        model or TinyModel(),
        TinyCodec(),
        tiny_contract(actions_per_frame),
        RenoiseSampler(RenoiseConfig()),
        history,
        **options,
    )


def inputs(batch, length, seed=0, actions_per_frame=1):
    rng = np.random.default_rng(seed)
    frames = rng.integers(0, 256, (batch, SIZE, SIZE, 3), dtype=np.uint8)
    return frames, rng.uniform(0, 100, (batch, 2)), rng.uniform(0, 100, (batch, length, actions_per_frame, 2))


@pytest.mark.parametrize(("rows", "exact"), [(1, 16), (0, 0)])
def test_batch_of_eight_equals_eight_singles(rows, exact):
    """To the last bit where each is called alone; together, float32 may round by the batch, which an untrained network
    doubles with each frame: so the first four are compared."""
    rollout = make(runtime=Runtime(rows=rows))
    frames, proprio, actions = inputs(8, 16)
    seeds = np.arange(8)
    _, together = rollout.advance(rollout.start(frames, proprio, seeds), actions)
    for i in range(8):
        _, alone = rollout.advance(
            rollout.start(frames[i : i + 1], proprio[i : i + 1], seeds[i : i + 1]), actions[i : i + 1]
        )
        difference = np.abs(alone.frames[0].astype(int) - together.frames[i].astype(int))
        assert difference[:4].max() <= 1
        assert not difference[:exact].any()
        np.testing.assert_allclose(alone.proprio[0], together.proprio[i], atol=1e-3)


def test_blocks_of_rows_equal_the_whole_batch():
    frames, proprio, actions = inputs(5, 4)
    results = [
        r.advance(r.start(frames, proprio, np.arange(5)), actions)[1].frames
        for r in (make(), make(runtime=Runtime(rows=2)))
    ]
    assert np.abs(results[0].astype(int) - results[1].astype(int)).max() <= 1


def test_the_seed_matters_and_the_slot_does_not():
    rollout = make()
    frames, proprio, actions = (np.repeat(a[:1], 3, 0) for a in inputs(1, 4))
    _, generated = rollout.advance(rollout.start(frames, proprio, np.array([5, 6, 5])), actions)
    np.testing.assert_array_equal(generated.frames[0], generated.frames[2])
    assert (generated.frames[0] != generated.frames[1]).any()


def test_frames_of_one_call_equal_frames_one_by_one():
    rollout = make()
    frames, proprio, actions = inputs(2, 5)
    start = rollout.start(frames, proprio, np.array([1, 2]))
    _, whole = rollout.advance(start, actions)
    state = start
    for i in range(5):
        state, one = rollout.advance(state, actions[:, i : i + 1])
        np.testing.assert_array_equal(one.frames[:, 0], whole.frames[:, i])
    assert state.frames.tolist() == [5, 5]
    assert start.frames.tolist() == [0, 0]  # the old state is untouched


class _Counting(TinyChunkModel):
    def __init__(self):
        super().__init__()
        self.calls = []

    def denoise(self, noisy, noise_level, context) -> Denoised:
        self.calls.append(noisy.shape[1])
        return super().denoise(noisy, noise_level, context)


def test_chunk_models_get_pieces_of_at_most_max_frames():
    model = _Counting()
    rollout = make(model, max_frames=3)
    frames, proprio, actions = inputs(2, 7)
    _, generated = rollout.advance(rollout.start(frames, proprio, np.array([1, 2])), actions)
    assert generated.frames.shape == (2, 7, SIZE, SIZE, 3)
    assert model.calls == [3, 3, 3, 3, 1, 1]  # two sampler steps for each piece


def test_history_is_padded_and_slides():
    rollout = make(history=3, actions_per_frame=2)
    frames, proprio, actions = inputs(1, 4, actions_per_frame=2)
    state = rollout.start(frames, proprio, np.array([0]))
    assert state.history.valid.tolist() == [[False, False, True]]
    assert torch.equal(state.history.latents[:, 0], state.history.latents[:, 2])
    assert state.history.actions.shape == (1, 2, 2, 2)
    state, generated = rollout.advance(state, actions)
    assert state.history.valid.all()
    assert torch.equal(state.history.latents, generated.latents[:, -3:])
    expected = rollout.contract.normalize_actions(actions[:, -2:].astype(np.float32))
    np.testing.assert_allclose(state.history.actions.numpy(), expected, atol=1e-6)


def test_history_lies_on_the_eight_bit_grid():
    rollout = make()
    frames, proprio, actions = inputs(1, 3)
    state, generated = rollout.advance(rollout.start(frames, proprio, np.array([0])), actions)
    again = rollout.codec.encode(torch.from_numpy(generated.frames))
    assert torch.equal(again, generated.latents)
    assert torch.equal(state.history.latents, again)


def test_a_true_history_continues_where_it_ends():
    rollout = make(history=3)
    frames, proprio, actions = inputs(1, 6)
    begun = rollout.start(frames, proprio, np.array([4]))
    middle, first = rollout.advance(begun, actions[:, :4])
    recorded = np.concatenate([frames[:, None], first.frames], 1)
    again = rollout.start(recorded, np.concatenate([proprio[:, None], first.proprio], 1), np.array([4]), actions[:, :4])
    assert again.frames.tolist() == [4]
    for field in ("latents", "valid", "actions"):
        assert torch.equal(getattr(middle.history, field), getattr(again.history, field))
    np.testing.assert_array_equal(
        rollout.advance(middle, actions[:, 4:])[1].frames, rollout.advance(again, actions[:, 4:])[1].frames
    )


def test_history_of_one_frame():
    rollout = make(history=1)
    frames, proprio, actions = inputs(2, 3)
    state, generated = rollout.advance(rollout.start(frames, proprio, np.array([0, 1])), actions)
    assert state.history.actions.shape == (2, 0, 1, 2)
    assert torch.equal(state.history.latents[:, 0], generated.latents[:, -1])


def test_proprio_stays_in_bounds_and_uncertainty_is_the_models():
    rollout = make()
    frames, proprio, actions = inputs(1, 2)
    actions[...] = 100.0
    _, generated = rollout.advance(rollout.start(frames, proprio, np.array([0])), actions)
    assert generated.proprio.max() <= 100.0
    np.testing.assert_allclose(generated.uncertainty, np.exp(-2.0), rtol=1e-5)  # log error is |action| - 3


def test_select_concatenate_replace_repeat():
    rollout = make()
    frames, proprio, actions = inputs(3, 2)
    state, _ = rollout.advance(rollout.start(frames, proprio, np.array([10, 11, 12])), actions)
    fresh = rollout.start(frames[:1], proprio[:1], np.array([20]))
    mixed = state.replace(np.array([1]), fresh)
    assert mixed.seeds.tolist() == [10, 20, 12]
    assert mixed.frames.tolist() == [2, 0, 2]
    assert torch.equal(mixed.history.latents[1], fresh.history.latents[0])
    assert torch.equal(mixed.select([2, 0]).history.latents, state.select([2, 0]).history.latents)
    shared, own = state.select([0]).repeat(3), state.select([0]).repeat(3, share_noise=False)
    assert shared.seeds.tolist() == [10, 10, 10]
    assert len({10, *own.seeds.tolist()}) == 4


def test_branches_equal_replays():
    rollout = make()
    frames, proprio, actions = inputs(1, 3)
    middle, _ = rollout.advance(rollout.start(frames, proprio, np.array([9])), actions)
    futures = np.random.default_rng(1).uniform(0, 100, (4, 5, 1, 2))
    _, branched = rollout.advance(middle.repeat(4), futures)
    for i in range(4):
        replay, _ = rollout.advance(rollout.start(frames, proprio, np.array([9])), actions)
        _, single = rollout.advance(replay, futures[i : i + 1])
        assert np.abs(single.frames[0].astype(int) - branched.frames[i].astype(int)).max() <= 1
    _, apart = rollout.advance(middle.repeat(2, share_noise=False), np.repeat(futures[:1], 2, 0))
    assert (apart.frames[0] != apart.frames[1]).any()


def test_arrays_round_trip():
    rollout = make()
    frames, proprio, actions = inputs(2, 2)
    state, _ = rollout.advance(rollout.start(frames, proprio, np.array([1, 2])), actions)
    arrays = state.to_arrays()
    again = rollout.load(arrays, 2)
    np.testing.assert_array_equal(rollout.advance(again, actions)[1].frames, rollout.advance(state, actions)[1].frames)
    for name, damaged in (
        ("seeds", None),
        ("latents", arrays["latents"][:, :1]),
        ("latents", np.full_like(arrays["latents"], np.nan)),
        ("frames", arrays["frames"].astype(np.float64)),
        ("proprio", arrays["proprio"][:1]),
        ("seeds", -arrays["seeds"]),
    ):
        with pytest.raises(DataError, match=f"saved (state lacks )?'{name}'"):
            rollout.load({n: a for n, a in (arrays | {name: damaged}).items() if a is not None}, 2)


def test_auto_chooses_what_the_device_has():
    chosen = Runtime.choose()
    assert chosen.device == ("cuda" if torch.cuda.is_available() else "cpu")
    assert chosen.precision == ("bfloat16" if has_bfloat16(chosen.device) else "float32")
    assert Runtime.choose("cpu", "float32").precision == "float32"
    with pytest.raises(InputError, match="precision is 'float16'"):
        Runtime.choose(precision="float16")


def test_preparing_copies_and_changes_layout_only():
    model = TinyModel()
    ready = Runtime(precision="bfloat16").prepare(model)
    assert ready.mix.weight.dtype == torch.bfloat16
    assert ready.mix.weight.is_contiguous(memory_format=torch.channels_last)
    assert model.mix.weight.dtype == torch.float32
    assert model.mix.weight.is_contiguous()
    assert torch.equal(Runtime().prepare(model).mix.weight, model.mix.weight)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_prepared_models_give_the_same_frames(precision):
    frames, proprio, actions = inputs(2, 3)
    runtime, outputs = Runtime(precision=precision), []
    for model in (TinyModel(), runtime.prepare(TinyModel())):
        rollout = make(model, runtime=runtime)
        outputs.append(rollout.advance(rollout.start(frames, proprio, np.arange(2)), actions)[1].frames.astype(int))
    assert np.abs(outputs[0] - outputs[1]).max() <= 1


def test_bfloat16_stays_close():
    frames, proprio, actions = inputs(2, 3)
    outputs = [
        r.advance(r.start(frames, proprio, np.arange(2)), actions)[1].frames.astype(int)
        for r in (make(), make(runtime=Runtime(precision="bfloat16")))
    ]
    assert 0 < np.abs(outputs[0] - outputs[1]).max() < 12


def test_bad_input_is_refused():
    rollout = make()
    frames, proprio, actions = inputs(2, 2)
    start = rollout.start(frames, proprio, np.array([1, 2]))
    with pytest.raises(InputError, match="uint8"):
        rollout.start(frames.astype(np.float32), proprio, np.array([1, 2]))
    with pytest.raises(InputError, match="proprio"):
        rollout.start(frames, proprio * np.nan, np.array([1, 2]))
    with pytest.raises(InputError, match="one seed each"):
        rollout.start(frames, proprio, np.array([1]))
    with pytest.raises(InputError, match="actions between"):
        rollout.start(np.repeat(frames[:, None], 2, 1), np.repeat(proprio[:, None], 2, 1), np.array([1, 2]))
    with pytest.raises(InputError, match="2 episodes"):
        rollout.advance(start, actions[:1])
    with pytest.raises(InputError, match="2 episodes"):
        rollout.advance(start, actions[:, :0])
    with pytest.raises(InputError, match="NaN"):
        rollout.advance(start, np.where(actions > 50, np.nan, actions))
    with pytest.raises(InputError, match="history"):
        make(history=0)


def test_states_are_immutable():
    rollout = make()
    frames, proprio, _ = inputs(1, 1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        rollout.start(frames, proprio, np.array([1])).frames = None
