"""What all tests share: a headless, offline, single-threaded process, and the real data where it is present."""

import os
import sys
from pathlib import Path

import pytest

# Set before torch or SDL is imported anywhere; child processes inherit it.
for _name, _value in {
    "SDL_VIDEODRIVER": "dummy",
    "SDL_AUDIODRIVER": "dummy",
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
}.items():
    os.environ.setdefault(_name, _value)

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of recorded real data; a test that asks for it is skipped where it is absent."""
    folder = Path(os.environ.get("SIMFORCING_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no recorded data at {folder}; set SIMFORCING_SHARED_DATA to its folder")
    return folder


@pytest.fixture(scope="session")
def drawing():
    """What draws MuJoCo here; a test that asks for it is skipped where nothing does."""
    from teachers.libero.gl import NoRendererError, backend

    try:
        return backend()
    except NoRendererError as error:
        pytest.skip(str(error))


@pytest.fixture(autouse=True)
def fresh_accelerate():
    """accelerate keeps one precision for a whole process, but tests train in several."""
    yield
    if "accelerate" in sys.modules:
        from accelerate.state import AcceleratorState

        AcceleratorState._reset_state(reset_partial_state=True)
