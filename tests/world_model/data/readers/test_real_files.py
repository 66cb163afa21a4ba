"""What the readers give of the recorded real files."""

import json

import numpy as np
import pytest

from teachers.pusht.contract import pusht_contract
from world_model.data.readers.base import View
from world_model.data.readers.registry import find_sets, open_reader
from world_model.data.readers.samples import SAMPLES
from world_model.data.zarr import read_zarr_array
from world_model.errors import DataError, InputError


@pytest.mark.parametrize("name", SAMPLES)
def test_every_sample_is_recognised_and_read_whole(make, name):
    found = find_sets(make(name))
    assert [f.layout for f in found] == [SAMPLES[name][0]]
    reader = open_reader(make(name))
    assert len(reader) > 0
    for index in range(len(reader)):
        numbers = reader.numbers(index)
        assert numbers.actions.shape == (len(numbers) - 1, 1, reader.contract.action_dim)
        if reader.pictured:
            episode = reader[index]
            assert len(episode) == len(numbers)
            assert episode.start == reader.names[index]
            assert episode.frames.max() > 0


def test_language_table(shared_data):
    reader = open_reader(shared_data / "language_table_irasim")
    raw = json.loads(
        (reader.path / "annotation" / "test" / "example.json").read_text(),
    )
    episode = reader[0]
    assert episode.frames.shape == (18, 360, 640, 3)
    assert np.allclose(episode.actions[:, 0], raw["actions"])
    # IRASim multiplies by 20; here the normaliser does.
    assert np.allclose(reader.contract.normalize_actions(episode.actions), 20 * np.array(raw["actions"])[:, None])
    assert reader.splits == ["test"]
    assert reader.latents(0).shape == (18, 4, 36, 64)
    assert any("empty instruction" in w for w in reader.warnings)


def test_droid(shared_data):
    with pytest.raises(DataError, match="holds 2 data sets"):
        open_reader(shared_data / "droid_ctrlworld")
    reader = open_reader(shared_data / "droid_ctrlworld" / "droid_subset", view=View((48, 80), ("camera_1",)))
    assert (len(reader), reader.splits.count("train")) == (7, 5)
    assert reader.contract.frame_hz == 5.0
    assert reader.contract.gripper == "plus_closes"
    for text in ("no file says what the gripper's 1 means; by the folder's name 'droid_subset'", "stored latents"):
        assert any(text in warning for warning in reader.warnings)
    told = open_reader(shared_data / "droid_ctrlworld/droid_subset", view=View(gripper="plus_opens"))
    assert told.contract.gripper == "plus_opens"
    assert not any("gripper" in warning for warning in told.warnings)
    episode = reader[-1]
    assert episode.frames.shape[1:] == (48, 80, 3)
    assert reader.latents(0).shape == (56, 4, 24, 40)
    with pytest.raises(DataError, match=r"episode train/1: .*latent_videos/train/1/0\.pt is missing"):
        reader.latents(1)
    scaled = reader.contract.normalize_actions(episode.actions)
    assert np.allclose(scaled[..., :6], 20 * episode.actions[..., :6], atol=1e-5)
    assert np.array_equal(scaled[..., 6], episode.actions[..., 6])


def test_droid_video_that_is_longer_than_its_states(shared_data):
    reader = open_reader(shared_data / "droid_ctrlworld" / "droid_new_setup", view=View((24, 40), ("camera_0",)))
    episode = reader[reader.names.index("val/0006")]
    assert len(episode) == 41
    assert any("val/0006" in w and "42 pictures for 41 rows" in w for w in reader.warnings)


def test_bridge_rlds(shared_data):
    reader = open_reader(shared_data / "bridge_rlds_octo")
    assert len(reader) == 16
    episode, numbers = reader[0], reader.numbers(0)
    assert episode.frames.shape == (10, 64, 4 * 64, 3)
    assert (episode.actions.shape, episode.proprio.shape) == ((9, 1, 7), (10, 7))
    assert not episode.frames[:, :, 192:].any()
    assert numbers.task == "put cup from counter or drying rack into sink"
    for expected in ("image_3' is black", "has_image_0 is false", "language_embedding", "last step leads to no frame"):
        assert any(expected in w for w in reader.warnings), expected
    # An action leads from its own step to the next: moves of the hand follow it.
    moves = np.concatenate([np.diff(reader.numbers(i).proprio[:, :3], axis=0) for i in range(16)])
    told = np.concatenate([reader.numbers(i).actions[:, 0, :3] for i in range(16)])
    assert min(np.corrcoef(moves[:, k], told[:, k])[0, 1] for k in range(3)) > 0.75


def test_bridge_mp4(shared_data):
    reader = open_reader(shared_data / "bridge_v2_256")
    assert [len(reader.numbers(i)) for i in range(6)] == [40, 41, 32, 31, 27, 49]
    with np.load(shared_data / "bridge_v2_256" / "000000003.npz") as file:
        assert np.array_equal(reader.numbers(2).actions[:, 0], file["arr_0"][:-1, :7])
    assert reader.contract.frame_hz == 5.0
    assert any("20 frames/s" in w for w in reader.warnings)


def test_pusht_zarr_is_our_pusht(shared_data):
    reader = open_reader(shared_data / "pusht_human", view=View((64, 64)))
    assert reader.contract == pusht_contract(64)
    assert len(reader) == 45
    episode = open_reader(shared_data / "pusht_human")[3]
    first = int(reader.ends[2])
    images = read_zarr_array(reader.path / "data" / "img", slice(first, first + 5))
    assert np.array_equal(episode.frames[:5], images.astype(np.uint8))
    assert np.array_equal(reader[3].proprio, episode.proprio)


def test_pusht_lerobot_agrees_with_the_zarr_and_misses_its_video(shared_data):
    reader, human = open_reader(shared_data / "pusht_lerobot_v30"), open_reader(shared_data / "pusht_human")
    assert len(reader) == 206
    for index in (0, 7, 44):
        assert np.array_equal(reader.numbers(index).actions, human.numbers(index).actions)
        assert np.array_equal(reader.numbers(index).proprio, human.numbers(index).proprio)
    with pytest.raises(DataError, match=r"episode 5: .*file-000\.mp4 is missing"):
        reader[5]
    assert any("next.success is never true" in w for w in reader.warnings)
    assert any("next.done is true before the last row" in w for w in reader.warnings)


def test_the_pictures_of_the_v3_sample_are_those_of_the_zarr(make, shared_data):
    reader, human = open_reader(make("pusht-lerobot-v3")), open_reader(shared_data / "pusht_human")
    assert all(np.array_equal(reader[i].frames, human[i].frames) for i in range(2))


def test_so101_has_an_episode_of_one_frame(make):
    reader = open_reader(make("so101-lerobot-v2"))
    episode = reader[1]
    assert (len(episode), episode.actions.shape) == (1, (0, 1, 6))
    assert episode.frames.shape == (1, 480, 640, 3)
    assert [d.name for d in reader.contract.actions][-1] == "main_gripper"
    assert reader.contract.actions[0].high > 5  # of the recorded statistics


def test_robosuite_has_numbers_and_no_pictures(shared_data):
    reader = open_reader(shared_data / "robosuite_teleop")
    assert [len(reader.numbers(i)) for i in range(3)] == [482, 510, 392]
    assert not reader.pictured
    assert reader.simulation(0).shape == (482, 32)
    assert any("3.75" in w for w in reader.warnings)
    with pytest.raises(DataError, match="data import"):
        reader[0]


def test_bair_and_rt1(shared_data):
    bair, rt1 = open_reader(shared_data / "bair_ivideogpt"), open_reader(shared_data / "rt1_fractal_ivideogpt")
    assert bair[0].frames.shape == (30, 64, 128, 3)
    assert bair[0].actions.shape == (29, 1, 4)
    assert rt1[0].frames.shape == (22, 256, 320, 3)
    assert not rt1[0].actions.any()
    assert any("no actions" in w for w in rt1.warnings)


def test_robonet_reads_both_encodings(make, shared_data):
    reader = open_reader(make("robonet"))
    with np.load(shared_data / "bair_ivideogpt" / "bair_sample.npz") as file:
        frames, actions = file["image"], file["action"]
    assert np.array_equal(reader[0].frames, frames)  # the mp4 is made without loss
    assert np.abs(reader[1].frames.astype(int) - frames[:12]).mean() < 4  # JPEG
    assert np.allclose(reader[0].actions[:, 0], actions[:-1])


def test_a_view_resizes_and_chooses(make):
    folder = make("bridge-rlds")
    reader = open_reader(folder, view=View((32, 48), ("image_2", "image_0")))
    assert [c.name for c in reader.contract.cameras] == ["image_0", "image_2"]
    assert reader[0].frames.shape == (10, 32, 96, 3)
    with pytest.raises(InputError, match="no camera 'wrist'"):
        open_reader(folder, view=View(None, ("wrist",)))


def test_indices_count_from_the_end_and_stop(make):
    reader = open_reader(make("bridge-mp4-npz"))
    assert np.array_equal(reader[-1].frames, reader[1].frames)
    assert [len(e) for e in reader[:2]] == [31, 27]
    with pytest.raises(IndexError):
        reader[2]
