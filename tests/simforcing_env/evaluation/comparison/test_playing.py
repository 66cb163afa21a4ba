"""When an episode counts as a success, at every border, and that neighbours change nothing."""

from dataclasses import replace

import numpy as np
import pytest

from simforcing_env.evaluation.comparison.parting import distances, parted
from simforcing_env.evaluation.comparison.playing import Trace, play
from simforcing_env.evaluation.comparison.protocol import Planned, Protocol, planned, read_protocol, write_protocol
from simforcing_env.evaluation.comparison.starts import first_of_tasks, first_starts
from tests.world_model.tiny import tiny_contract
from world_model.errors import DataError, InputError
from world_model.extras import absent

PROTOCOL = Protocol(
    *("SimForcing/Tiny-v0", "SimForcing/Tiny-Teacher-v0", "c", "k"),
    *(10, 0, 2, 0, 0.5, 3, 1, "auto", 12.0, 0.05, 12.0),
)


class Script:
    """Goes to x = 100 (a success) at the frames named, counted from 1, and to x = 10 at all others."""

    name, hash = "script", "s"

    def __init__(self, wins, horizon=2):
        self.wins, self.horizon = wins, horizon

    def reset(self, seeds, tasks):
        self.step, self.count, self.tasks = 0, len(seeds), tasks

    def act(self, observation):
        chunk = np.full((self.count, self.horizon, 2), 10.0, np.float32)
        for row in range(self.count):
            for step in range(self.horizon):
                if self.step + step + 1 in self.wins[row]:
                    chunk[row, step, 0] = 100.0
        self.step += self.horizon
        return chunk


def episodes(count):
    return [Planned("learned", "left", i, 40 + i) for i in range(count)]


@pytest.mark.parametrize(
    ("wins", "frame"),
    [
        ([1], 1),  # on the first frame of the first chunk
        ([2], 2),  # on its last
        ([3], 3),  # on the first of the second
        ([1, 2, 3, 4], 1),
        ([10], 10),  # on the last frame that there is
        ([11], None),  # too late by one
        ([], None),  # never
        ([5], 5),  # then undone in the same chunk
        ([6], 6),  # then undone in the next
    ],
)
def test_the_frame_of_the_first_success(make_vector, wins, frame):
    env = make_vector(1, chunk=2, autoreset_mode="Disabled", frames_in_info=False)
    (trace,) = play(env, Script([wins]), episodes(1), 10)
    assert trace.success_frame == frame
    assert trace.frame[-1] == (10 if frame is None else frame)
    assert len(trace.uncertainty) == trace.frame[-1]


@pytest.mark.parametrize(("wins", "frame"), [([9], 9), ([10], None)])
def test_a_limit_within_a_chunk_cuts_it(make_vector, wins, frame):
    env = make_vector(1, chunk=3, autoreset_mode="Disabled", frames_in_info=False)
    (trace,) = play(env, Script([wins], horizon=3), episodes(1), 9)
    assert trace.success_frame == frame
    (trace,) = play(env, Script([[9]], horizon=3), episodes(1), 8)
    assert trace.success_frame is None


def test_fewer_actions_than_planned_are_carried_out(make_vector):
    env = make_vector(1, chunk=1, autoreset_mode="Disabled", frames_in_info=False)
    (trace,) = play(env, Script([[2]], horizon=2), episodes(1), 10)
    assert trace.success_frame is None  # the second action of each plan is never done, and it is asked at 1, 3, 5 ...
    assert trace.frame == list(range(11))


def test_an_episode_that_ended_stays_and_its_neighbours_go_on(make_vector):
    env = make_vector(3, chunk=2, autoreset_mode="Disabled", frames_in_info=False)
    together = play(env, Script([[1], [], [7]]), episodes(3), 10)
    assert [trace.success_frame for trace in together] == [1, None, 7]
    assert [trace.frame[-1] for trace in together] == [1, 10, 7]
    alone = make_vector(1, chunk=2, autoreset_mode="Disabled", frames_in_info=False)
    (single,) = play(alone, Script([[7]]), episodes(3)[2:], 10)
    np.testing.assert_array_equal(np.stack(single.images), np.stack(together[2].images))
    assert single.labels == together[2].labels


def test_an_answer_of_another_shape_is_refused(make_vector):
    env = make_vector(1, chunk=2, autoreset_mode="Disabled", frames_in_info=False)
    policy = Script([[]], horizon=2)
    policy.act = lambda observation: np.zeros((1, 3, 2), np.float32)
    with pytest.raises(InputError, match="policy 'script' answered with shape"):
        play(env, policy, episodes(1), 4)


@pytest.mark.parametrize(
    ("horizon", "per_frame", "execute", "chunk"), [(8, 1, 0, 8), (8, 4, 5, 4), (6, 4, 0, 4), (8, 4, 1, 4), (8, 1, 3, 3)]
)
def test_chunks_are_whole_frames(horizon, per_frame, execute, chunk):
    assert replace(PROTOCOL, execute=execute).chunk(horizon, per_frame) == chunk


def test_a_policy_that_plans_less_than_a_frame_is_refused():
    with pytest.raises(InputError, match="a policy plans 2 actions but a frame takes 4"):
        PROTOCOL.chunk(2, 4)


def test_the_first_starts_of_a_split():
    assert first_starts("pusht", "test", 2) == ["seed-900000", "seed-900001"]
    assert first_starts("pusht", "validation", 1) == ["seed-800000"]
    with pytest.raises(InputError, match="name them with --starts"):
        first_starts("tiny", "test", 1)


@pytest.mark.skipif(bool(absent("libero")), reason="LIBERO is not installed: pip install '.[libero]'")
def test_tasks_take_turns_in_batches():
    starts = first_starts("libero_goal", "validation", 3, together=2)
    assert len(starts) == 30
    assert starts[:4] == [f"libero_goal/{task}/{init}" for task in (0, 1) for init in (30, 31)]
    assert starts[20:22] == ["libero_goal/0/32", "libero_goal/1/32"]
    with pytest.raises(InputError, match="--episodes is 11 but validation has 10 starts"):
        first_starts("libero_goal", "validation", 11)


def test_the_first_starts_of_each_task_among_others():
    starts = [f"libero_goal/{task}/{init}" for task in (0, 3) for init in (40, 41, 42)]
    assert first_of_tasks(starts, 2) == [starts[0], starts[1], starts[3], starts[4]]
    assert first_of_tasks(["seed-1", "seed-2"], 1) == ["seed-1"]


def test_episodes_keep_the_actions_of_frames_that_count(make_vector):
    env = make_vector(2, chunk=2, autoreset_mode="Disabled")
    traces = play(env, Script([[3], []]), episodes(2), 5, clock=lambda: 0.0)
    assert [len(trace.actions) for trace in traces] == [3, 5]
    assert [float(actions[0, 0]) for actions in traces[0].actions] == [10, 10, 100]
    assert traces[0].seconds == (0, 0)


def test_seeds_are_shared_by_the_first_two_sides_alone():
    true, learned, again = (planned(PROTOCOL, side, ["a", "b"], 4) for side in ("true", "learned", "again"))
    assert [e.seed for e in true] == [e.seed for e in learned] == [4, 5]
    assert not {e.seed for e in again} & {e.seed for e in true}
    assert planned(PROTOCOL, "true", ["libero_goal/7/41"], 0)[0].task == 7


def test_a_protocol_is_what_its_hash_says(tmp_path):
    path = tmp_path / "a.protocol.json"
    write_protocol(path, PROTOCOL)
    assert read_protocol(path) == PROTOCOL
    path.write_text(path.read_text().replace('"frames": 10', '"frames": 20'))
    with pytest.raises(DataError, match="was changed by hand"):
        read_protocol(path)
    with pytest.raises(DataError, match="is no protocol"):
        read_protocol(tmp_path / "none.json")


def trace(levels, proprio, step=2):
    frames = [np.full((4, 4, 3), level, np.uint8) for level in levels]
    return Trace([i * step for i in range(len(levels))], frames, [np.array([p, 0], np.float32) for p in proprio])


def test_where_episodes_part():
    contract = tiny_contract()  # proprio from 0 to 100
    learned = trace([0, 0, 13, 13], [0, 4, 4, 6])
    true = trace([0, 0, 0, 13, 200], [0, 0, 0, 0, 99])  # goes on for longer, which is not compared
    seen = distances(learned, true, contract, lambda a, b, count: np.arange(count) * 10.0)
    assert seen["pixel"] == [0, 0, 13, 0]
    assert seen["proprio"] == pytest.approx([0, 0.04, 0.04, 0.06])
    found = parted(learned, true, PROTOCOL, contract, lambda a, b, count: np.arange(count) * 10.0)
    assert found == {"pixel": 4, "proprio": 6, "state": 4}
    assert parted(learned, learned, PROTOCOL, contract, None) == {"pixel": None, "proprio": None}
