"""Published checkpoints through the command: converted, opened, rolled out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from simforcing_env.commands.main import main
from world_model.models.irasim import irasim
from world_model.models.irasim.restated import Restated
from world_model.pretrained import LearnedSimulator
from world_model.rollout import Rollout

diffusers = pytest.importorskip("diffusers")


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An S/2 for 32 x 48 pixels and a tiny autoencoder beside it."""
    folder = tmp_path_factory.mktemp("published")
    plain = Restated(irasim("S", grid=(4, 6), frames=4, action_dim=2, embedding="linear"))
    parts = {"model": {}, "ema": plain.state_dict(), "opt": {}, "args": {"dataset": "languagetable", "extras": 3}}
    torch.save(parts, folder / "0300000.pt")
    sizes = {"encoder_block_out_channels": (8,) * 4, "decoder_block_out_channels": (8,) * 4}
    blocks = {"num_encoder_blocks": (1,) * 4, "num_decoder_blocks": (1,) * 4}
    diffusers.AutoencoderTiny(**sizes, **blocks).save_pretrained(folder / "vae")
    return folder


def test_the_converted_checkpoint_generates(published: Path, tmp_path: Path) -> None:
    words = ["convert", "irasim", published / "0300000.pt", tmp_path / "out", "--codec", published / "vae"]
    assert main([str(word) for word in [*words, "--steps", 5, "--guidance", 2]]) == 0
    simulator = LearnedSimulator.from_pretrained(tmp_path / "out")
    assert simulator.config["sampler"]["scale"] == 2.0
    contract = simulator.contract
    assert (contract.name, contract.cameras[0].height, contract.cameras[0].width) == ("languagetable", 32, 48)
    assert np.allclose(contract.normalize_actions(np.array([[0.05, -0.025]])), [[1.0, -0.5]])  # times 20, as published
    rollout = Rollout(simulator.model, simulator.codec, contract, simulator.sampler, simulator.history)
    frames = np.random.default_rng(0).integers(0, 256, (1, 32, 48, 3), dtype=np.uint8)
    state = rollout.start(frames, np.zeros((1, contract.proprio_dim)), np.zeros(1, np.int64))
    _, made = rollout.advance(state, np.zeros((1, 4, 1, 2), np.float32))
    assert made.frames.shape == (1, 4, 32, 48, 3)  # in pieces of three, which the model was trained for


def test_plain_weights_are_told(published: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = torch.load(published / "0300000.pt", weights_only=True)
    torch.save({"model": parts["ema"], "args": parts["args"]}, tmp_path / "plain.pt")
    words = ["convert", "irasim", tmp_path / "plain.pt", tmp_path / "out", "--codec", published / "vae"]
    assert main([str(word) for word in words]) == 0
    assert "plain.pt holds no 'ema': its plain weights are taken" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--world", "rt1"], "takes 2 actions but the contract 'rt1' and codec have 7"),
        (["--contract", "nowhere"], "--contract is nowhere, where there is no contract.json"),
        ([], ""),
    ],
)
def test_what_does_not_fit(published: Path, tmp_path: Path, words: list[str], text: str, capsys) -> None:
    codec = ["--codec", str(published / ("vae" if words else "nothing"))]
    code = main(["convert", "irasim", str(published / "0300000.pt"), str(tmp_path / "out"), *codec, *words])
    assert code == 2
    assert (text or "there is no autoencoder to read at") in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
