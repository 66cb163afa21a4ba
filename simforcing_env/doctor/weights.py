"""Are the checkpoints in the package whole, and were they made for the worlds that they say?"""

from __future__ import annotations

from pathlib import Path

import simforcing_env
from simforcing_env.doctor.finding import Finding
from world_model.contract import Contract
from world_model.errors import SimforcingError

WEIGHTS = Path(simforcing_env.__file__).parent / "weights"


def check_weights(folder: Path = WEIGHTS) -> list[Finding]:
    """One finding for each checkpoint under ``folder``."""
    names = sorted(p for p in folder.glob("*") if p.is_dir() and not p.name.startswith(".")) if folder.is_dir() else []
    if not names:
        text = f"no checkpoint in {folder}"
        return [Finding("weights", "fault", text, "reinstall the package; weights are part of it")]
    return [check_folder(path) for path in names]


def check_folder(path: Path) -> Finding:
    """Open one checkpoint folder and compare every file with its manifest."""
    from world_model.checkpoint import open_folder

    try:
        opened = open_folder(path)
        contract = None
        if "contract.json" in opened:
            contract = Contract.from_json(opened.file("contract.json").read_text(encoding="utf-8"))
    except SimforcingError as error:
        return Finding(path.name, "fault", str(error), "reinstall the package or copy the checkpoint again")
    size = sum((path / name).stat().st_size for name in opened.files) / 1e6
    world = "no contract of its own" if contract is None else f"contract {contract.hash} ({contract.name})"
    text = f"checkpoint {opened.hash}, {world}, {size:.1f} MB, whole"
    return Finding(path.name, "ok", text)
