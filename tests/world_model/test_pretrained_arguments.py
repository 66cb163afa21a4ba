"""Arguments of loading and saving a learned simulator: one sentence for each mistake."""

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.world_model.untrained import untrained_pusht
from world_model.errors import DataError, InputError
from world_model.pretrained import LearnedSimulator

UNTRAINED = untrained_pusht()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"name": None}, "checkpoint is None but must be a folder"),
        ({"name": "a" * 5000}, "there is no checkpoint 'aaa"),
        ({"name": "a/b", "revision": 5}, "could not be fetched"),
        ({"devic": "cpu"}, "option 'devic' is unknown; the options are device, dtype"),
        ({"device": "gpu"}, "device 'gpu' cannot be used"),
        ({"device": None}, "device is None"),
        ({"dtype": "float32"}, "dtype is 'float32' but must be one of torch"),
        ({"dtype": torch.int8}, "dtype is torch.int8"),
        ({"contract": "pusht"}, "contract is 'pusht' but must be a Contract"),
        ({"weights": "best"}, "weights is 'best' but must be one of model, ema"),
    ],
)
def test_bad_arguments(wrong: dict[str, Any], words: str, tmp_path: Path) -> None:
    UNTRAINED.save_pretrained(tmp_path / "sim")
    with pytest.raises((InputError, DataError), match=words) as error:
        LearnedSimulator.from_pretrained(**{"name": tmp_path / "sim", **wrong})
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 400


def test_bad_arguments_of_saving(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="folder is None but must be a path"):
        UNTRAINED.save_pretrained(None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"dtype is torch\.int8"):
        UNTRAINED.save_pretrained(tmp_path / "sim", dtype=torch.int8)
    assert not (tmp_path / "sim").exists()
