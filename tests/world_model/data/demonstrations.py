"""Small HDF5 files in the layouts of LIBERO and of robomimic."""

import json

import numpy as np

SUITE, TASK = "libero_goal", "turn_on_the_stove"
SETTINGS = {"robots": ["Panda"], "controller_configs": {"type": "OSC_POSE"}, "control_freq": 20}


def numbers(seed, steps):
    """Actions, states, hand, fingers and two cameras' upright pictures."""
    rng = np.random.default_rng(seed)
    pictures = rng.integers(0, 256, (2, steps, 8, 8, 3), dtype=np.uint8)
    hand = rng.normal(size=(steps, 6)) * 0.1
    return rng.uniform(-1, 1, (steps, 7)), rng.normal(size=(steps, 5)), hand, rng.random((steps, 2)), pictures


def libero_file(path, lengths=(23, 9), suite=SUITE, task=TASK):
    """As LIBERO's own converter writes: pictures upside down, observations after their actions."""
    import h5py

    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        data.attrs["bddl_file_name"] = f"libero/bddl_files/{suite}/{task}.bddl"
        data.attrs["env_args"] = json.dumps({"env_name": "Libero_Tabletop_Manipulation", "env_kwargs": SETTINGS})
        data.attrs["macros_image_convention"] = "opengl"
        for number, steps in enumerate(lengths):
            actions, states, hand, fingers, pictures = numbers(number, steps)
            demo = data.create_group(f"demo_{number}")
            for name, values in (
                ("actions", actions),
                ("states", states),
                ("rewards", np.arange(steps) == steps - 1),
                ("obs/ee_states", hand),
                ("obs/gripper_states", fingers),
                ("obs/agentview_rgb", pictures[0][:, ::-1]),
                ("obs/eye_in_hand_rgb", pictures[1][:, ::-1]),
            ):
                demo.create_dataset(name, data=values)
    return path


def robomimic_file(path, steps=11):
    """As robomimic draws states: pictures upright, observations before their actions, and one more at the end."""
    import h5py

    actions, _, hand, fingers, pictures = numbers(0, steps + 1)
    seen = {
        "robot0_eef_pos": hand[:, :3],
        "robot0_eef_quat": np.tile([1.0, 0.0, 0.0, 0.0], (steps + 1, 1)),
        "robot0_gripper_qpos": fingers,
        "agentview_image": pictures[0],
        "robot0_eye_in_hand_image": pictures[1],
    }
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        data.attrs["env_args"] = json.dumps({"env_name": "Lift", "type": 1, "env_kwargs": SETTINGS})
        demo = data.create_group("demo_0")
        demo.create_dataset("actions", data=actions[:-1])
        demo.create_dataset("rewards", data=np.arange(steps) == steps - 1)
        for name, values in seen.items():
            demo.create_dataset(f"obs/{name}", data=values[:-1])
            demo.create_dataset(f"next_obs/{name}", data=values[1:])
    return path
