"""A recorded LIBERO data set as HDF5 in the layout of LIBERO's published demonstrations, one file a task.

Every episode is played again, for such files hold all 20 control steps a second where a data set of ours holds five
frames; that it goes as it went is checked on the way.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from teachers.libero.contract import CAMERAS, CONTROL_HZ, proprio_of
from teachers.libero.entry import seen
from teachers.libero.physics import Look
from teachers.libero.suites import SUITES, Task, tasks
from teachers.libero.teacher import LiberoConfig, LiberoTeacher
from world_model.data.episode import Episode
from world_model.data.lerobot.reader import LeRobotDataset
from world_model.errors import DataError, InputError
from world_model.extras import require

PICTURES = {"agentview": "agentview_rgb", "wrist": "eye_in_hand_rgb"}
SAME = 1e-5  # largest difference of proprio at which an episode counts as played again

Rows = dict[str, list[Any]]


def export_demonstrations(
    dataset: LeRobotDataset,
    out: Path,
    *,
    pictures: bool = True,
    successes_only: bool = False,
    look: Look | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> list[Path]:
    """Write ``<task>_demo.hdf5`` for each task of a data set; a file appears whole or not at all.

    Args:
        pictures: draw all control steps, which takes most of the time.
        successes_only: leave out episodes that do not end with success.
        look: of the pictures, "stock" or "fast"; None is the data set's.
        progress: told the number of episodes that are done.

    Raises:
        MissingExtraError: h5py or LIBERO is not installed.
        InputError: the data set is not of a LIBERO suite, no episode is left, or a file is there already.
        DataError: an episode does not play again as it was recorded.
    """
    require("h5py", "hdf5")
    contract = dataset.contract
    if contract.name not in SUITES:
        raise InputError(f"{dataset.path} is of {contract.name!r}, not of a LIBERO suite; only those can be exported")
    config = LiberoConfig(contract.name, **seen(contract))
    contract.require_same(LiberoTeacher(config).contract, str(dataset.path), "the LIBERO teacher")
    chosen = _chosen(dataset, successes_only)
    known = tasks(contract.name)
    paths = {task: out / f"{known[task].name}_demo.hdf5" for task in chosen}
    there = [path for path in paths.values() if path.exists()]
    if there:
        raise InputError(f"{there[0]} is there already; delete it or choose another --out")
    out.mkdir(parents=True, exist_ok=True)
    teacher, done = LiberoTeacher(config if look is None else replace(config, look=look)), 0
    for task, numbers in chosen.items():
        done = _write_file(paths[task], known[task], dataset, numbers, teacher, pictures, done, progress)
    return list(paths.values())


def _chosen(dataset: LeRobotDataset, successes_only: bool) -> dict[int, list[int]]:
    """Episode numbers of each task."""
    chosen: dict[int, list[int]] = {}
    for number in range(len(dataset)):
        columns = dataset.columns(number)
        if not successes_only or columns["label.success"][-1] > 0:
            chosen.setdefault(int(columns["task_index"][0]), []).append(number)
    if not chosen:
        raise InputError(f"no episode of {dataset.path} ends with success; export failures too")
    return dict(sorted(chosen.items()))


def _write_file(
    path: Path,
    task: Task,
    dataset: LeRobotDataset,
    numbers: Sequence[int],
    teacher: LiberoTeacher,
    pictures: bool,
    done: int,
    progress: Callable[[int], None],
) -> int:
    h5py = require("h5py", "hdf5")
    temporary, total = path.with_name(f".{path.name}.{os.getpid()}"), 0
    try:
        with h5py.File(temporary, "w") as file:
            data = file.create_group("data")
            for place, number in enumerate(numbers):
                rows, model = _play(teacher, dataset[number], pictures, f"episode {number} of {dataset.path}")
                demo = data.create_group(f"demo_{place}")
                for name, values in rows.items():
                    demo.create_dataset(name, data=np.stack(values), compression="gzip" if "rgb" in name else None)
                demo.attrs["num_samples"] = len(rows["actions"])
                demo.attrs["init_state"] = rows["states"][0]
                demo.attrs["model_file"] = model
                total, done = total + len(rows["actions"]), done + 1
                progress(done)
            for name, value in _attributes(task, teacher.world, len(numbers), total).items():
                data.attrs[name] = value
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return done


def _play(teacher: LiberoTeacher, episode: Episode, pictures: bool, where: str) -> tuple[Rows, str]:
    """All control steps of an episode as rows by dataset name, and the scene as XML."""
    teacher.reset(episode.start, render=False)
    world = teacher.world
    rows: Rows = {}
    for number, frame in enumerate(episode.actions):
        _same(world, episode.proprio[number], where, number)
        for action in frame:
            row = {"actions": action.astype(np.float64), "states": world.sim.get_state().flatten()}
            world.step(action.astype(np.float64))
            row |= _observed(world)
            row["rewards"], row["dones"] = np.uint8(world.success()), np.uint8(0)
            if pictures:
                for camera in teacher.contract.cameras:
                    picture = world.render(CAMERAS[camera.name], camera.height)
                    row[f"obs/{PICTURES[camera.name]}"] = picture[::-1]  # these files hold them upside down
            for name, value in row.items():
                rows.setdefault(name, []).append(value)
    _same(world, episode.proprio[-1], where, len(episode.actions))
    rows["dones"][-1] = np.uint8(1)
    # Without what only this machine has: where its packages lie.
    return rows, re.sub(r'file="[^"]*/site-packages/', 'file="', world.sim.model.get_xml())


def _observed(world: Any) -> dict[str, NDArray[np.float64]]:
    robot, data = world.env.robots[0], world.sim.data
    place = np.array(data.site_xpos[robot.eef_site_id])
    w, x, y, z = data.get_body_xquat(robot.robot_model.eef_name)
    quaternion = np.array([x, y, z, w])
    turn = Rotation.from_quat(quaternion).as_rotvec()
    fingers = np.array(data.qpos[robot._ref_gripper_joint_pos_indexes])
    return {
        "robot_states": np.concatenate([fingers, place, quaternion]),
        "obs/ee_pos": place,
        "obs/ee_ori": turn,
        "obs/ee_states": np.concatenate([place, turn]),
        "obs/gripper_states": fingers,
        "obs/joint_states": np.array(data.qpos[robot._ref_joint_pos_indexes]),
    }


def _same(world: Any, recorded: NDArray[np.float32], where: str, frame: int) -> None:
    away = float(np.abs(proprio_of(world.env) - recorded).max())
    if not away <= SAME:
        raise DataError(
            f"{where} does not play again as it was recorded: at frame {frame} its proprio is {away:.2g} off; "
            "export it with the versions of LIBERO and MuJoCo that recorded it"
        )


def _attributes(task: Task, world: Any, demonstrations: int, steps: int) -> dict[str, Any]:
    """Attributes of the group "data"."""
    problem = type(world.env).__name__
    settings = {"robots": ["Panda"], "controller_configs": {"type": "OSC_POSE"}, "control_freq": CONTROL_HZ}
    bddl = f"{task.suite}/{task.bddl.name}"
    arguments = {"type": 1, "env_name": problem, "problem_name": problem, "bddl_file": bddl, "env_kwargs": settings}
    about = {"problem_name": problem, "domain_name": "robosuite", "language_instruction": task.language}
    return {
        "env_name": problem,
        "env_args": json.dumps(arguments),
        "problem_info": json.dumps(about),
        "bddl_file_name": bddl,
        "bddl_file_content": task.bddl.read_text(),
        "macros_image_convention": "opengl",
        "num_demos": demonstrations,
        "total": steps,
    }
