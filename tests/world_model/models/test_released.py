"""Published checkpoints: names, shapes, equal answers, and nothing in them is run."""

from __future__ import annotations

import argparse
import os
import re
import sys
import types
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.world_model.models.published_unet import published_unet
from world_model.checkpoint import load_state
from world_model.errors import DataError
from world_model.models.irasim import Irasim, IrasimConfig, irasim
from world_model.models.irasim.restated import Restated
from world_model.models.layers import sincos_1d, sincos_2d
from world_model.models.released import Released, read_released, translate
from world_model.models.video_unet import VideoUNet, lvdm

SMALL = irasim("S", grid=(4, 6), frames=4)
READINGS = [
    {},
    {"conditioning": "video"},
    {"embedding": "linear", "action_dim": 2},
    {"embedding": "linear", "action_dim": 2, "conditioning": "video"},
    {"final_frame_ada": True},
]


def restated(**changes: Any) -> Restated:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        plain = Restated(IrasimConfig(**{**vars(SMALL), **changes}))
        for name, parameter in plain.named_parameters():
            if "_embed" not in name and parameter.ndim > 1:
                nn.init.normal_(parameter, std=0.5 / parameter[0].numel() ** 0.5)
    return plain.eval()


@pytest.mark.parametrize("changes", READINGS, ids=str)
def test_a_converted_model_answers_what_the_published_operations_do(changes: dict[str, Any]) -> None:
    plain = restated(**changes)
    arguments = {"final_frame_ada": changes.get("final_frame_ada", False), "num_frames": 4}
    config, weights = translate(Released(plain.state_dict(), arguments), "x.pt")
    assert config == plain.config
    model = Irasim(config).eval()
    load_state(model, weights, "x.pt")
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(2, 4, 4, 4, 6, generator=generator)
    actions = torch.randn(2, 3, config.action_dim, generator=generator)
    times = torch.tensor([3.0, 700.0])
    real, told = torch.ones(2, 3, dtype=torch.bool), torch.zeros(2, dtype=torch.bool)
    with torch.no_grad():
        wanted = plain(x, times, actions)
        found = model.answer(x, times[:, None].expand(2, 4), model.embed(actions, real, told)).latents
    assert wanted.std() > 0.05
    torch.testing.assert_close(found, wanted, rtol=0, atol=2e-5)


@pytest.mark.parametrize(("size", "grid", "patch"), [("XL", (32, 40), 2), ("B", (36, 64), 4)])
def test_published_sizes_and_grids_are_known_by_their_shapes(size: str, grid: tuple[int, int], patch: int) -> None:
    asked = irasim(size, grid=grid, patch=patch)
    with torch.device("meta"):
        weights = Restated(asked).state_dict()
    tables = {
        "pos_embed": sincos_2d(grid[0] // patch, grid[1] // patch, asked.dim),
        "temp_embed": sincos_1d(16, asked.dim),
    }
    config, renamed = translate(Released({**weights, **{k: v[None] for k, v in tables.items()}}, {}), "x.pt")
    assert config == asked
    with torch.device("meta"):
        own = Irasim(config).state_dict()
    assert {k: v.shape for k, v in renamed.items()} == {k: v.shape for k, v in own.items()}


def test_lvdm_s_names_and_shapes() -> None:
    weights = published_unet(dim=288, channels=4, actions=7)
    config, renamed = translate(Released(weights, {"num_frames": 16}), "x.pt")
    assert config == lvdm()
    with torch.device("meta"):
        own = VideoUNet(config).state_dict()
    assert {k: v.shape for k, v in renamed.items()} == {k: v.shape for k, v in own.items()}


def namespace(**values: Any) -> Any:
    return argparse.Namespace(**values)


def omegaconf(monkeypatch: pytest.MonkeyPatch, **values: Any) -> Any:
    """An object that is pickled as OmegaConf's are, whether that package is here or not."""

    def kind(module: str, name: str) -> type:
        made = sys.modules.get(module) or types.ModuleType(module)
        monkeypatch.setitem(sys.modules, "omegaconf", types.ModuleType("omegaconf"))
        monkeypatch.setitem(sys.modules, module, made)
        cls = type(name, (), {"__module__": module})
        monkeypatch.setattr(made, name, cls, raising=False)
        return cls

    config, node = kind("omegaconf.dictconfig", "DictConfig")(), kind("omegaconf.nodes", "AnyNode")
    listed = kind("omegaconf.listconfig", "ListConfig")

    def wrap(value: Any) -> Any:
        wrapped = listed() if isinstance(value, list) else node()
        state = {"_content": [wrap(v) for v in value]} if isinstance(value, list) else {"_val": value}
        vars(wrapped).update(state, _parent=config)
        return wrapped

    vars(config).update(_content={k: wrap(v) for k, v in values.items()}, _metadata=None)
    return config


@pytest.mark.parametrize("kind", ["omegaconf", "namespace", "dict", "none"])
def test_the_average_and_the_arguments_are_read(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"dataset": "rt1", "num_frames": 4, "video_size": [256, 320], "final_frame_ada": False}
    made = {"omegaconf": omegaconf, "namespace": lambda _, **v: namespace(**v), "dict": lambda _, **v: v}
    args = {"args": made[kind](monkeypatch, **values)} if kind in made else {}
    average = restated().state_dict()
    torch.save({"model": {"w": torch.zeros(1)}, "ema": average, "opt": {"state": {}}, **args}, tmp_path / "x.pt")
    monkeypatch.undo()
    released = read_released(tmp_path / "x.pt")
    assert released.arguments == (values if args else {})
    assert all(torch.equal(value, average[name]) for name, value in released.weights.items())


class Evil:
    def __reduce__(self) -> Any:
        return os.mkdir, ("ran",)


def test_nothing_of_the_file_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"ema": restated().state_dict(), "args": Evil()}, "x.pt")
    with pytest.raises(DataError, match=r"x\.pt wants to run posix\.mkdir, which no weights need"):
        read_released(Path("x.pt"))
    assert not Path("ran").exists()


@pytest.mark.parametrize(
    ("stored", "text"),
    [
        ([1], "holds a list, not a checkpoint"),
        ({"ema": {"w": 3}}, "holds no state dict under 'ema' or 'model'"),
        (None, "is not readable as a checkpoint"),
    ],
)
def test_what_is_no_checkpoint(tmp_path: Path, stored: Any, text: str) -> None:
    path = tmp_path / "x.pt"
    path.write_bytes(b"nothing") if stored is None else torch.save(stored, path)
    with pytest.raises(DataError, match=text):
        read_released(path)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda w: w.update({"more": torch.zeros(1)}), "the key 'more' is in none of IRASim's models"),
        (lambda w: w.pop("temp_embed"), "has no 'temp_embed'"),
        (lambda w: w.pop("x_embedder.proj.weight"), "not one of IRASim's models"),
        (lambda w: w["pos_embed"].zero_(), "positions in the picture are not the published ones"),
        (lambda w: [w.pop(k) for k in [*w] if re.match(r"blocks\.1[01]\.", k)], "depth 10 and width 384 is none"),
    ],
)
def test_weights_of_another_network(change: Any, text: str) -> None:
    weights = restated().state_dict()
    with torch.no_grad():
        change(weights)
    with pytest.raises(DataError, match=text):
        translate(Released(weights, {}), "x.pt")
