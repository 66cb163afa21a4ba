"""A policy in a real process of its own acts as it does here; what is not understood is told in a sentence."""

import os
import socket
import subprocess
import sys
import threading

import numpy as np
import pytest

from simforcing_env.policies.perturbed import Random, RandomSettings
from simforcing_env.policies.policy import Task
from simforcing_env.policies.registry import make_policy
from simforcing_env.policies.remote import RemotePolicy, serve
from simforcing_env.policies.wire import pack, receive, send, unpack
from teachers.pusht.contract import pusht_contract
from world_model.errors import ContractError, DataError, InputError

pytest.importorskip("msgpack")
CONTRACT = pusht_contract()
OBSERVATION = {
    "image": np.arange(3 * 64 * 64 * 3, dtype=np.uint64).astype(np.uint8).reshape(3, 64, 64, 3),
    "proprio": np.array([[1, 2], [300, 4], [5, 500]], np.float32),
}
TASKS = [Task(2, "push")] * 3


@pytest.fixture
def served():
    """Address of a policy in another process."""
    command = [sys.executable, "-m", "simforcing_env.commands.main", "policy", "serve"]
    command += ["--policy", "random:hold=2,horizon=3", "--callers", "2"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)
    line = process.stdout.readline()
    assert "listens on 127.0.0.1:" in line
    yield line.split()[-1]
    process.kill()
    process.communicate()


def test_a_policy_of_another_process_acts_as_it_does_here(served):
    far = make_policy(f"socket:{served}", CONTRACT)
    here = make_policy("random:hold=2,horizon=3", CONTRACT)
    assert (far.name, far.hash, far.horizon) == (here.name, here.hash, 3)
    for seeds in ([1, 2, 3], [2, 1, 9]):
        far.reset(seeds, TASKS)
        here.reset(seeds, TASKS)
        for _ in range(3):
            np.testing.assert_array_equal(far.act(OBSERVATION), here.act(OBSERVATION))
    far.close()
    again = RemotePolicy.connect(served, CONTRACT)  # the next caller is served as well
    again.reset([7], TASKS[:1])
    with pytest.raises(InputError, match=r"says: call 'act' failed"):
        again._ask({"call": "act"})
    with pytest.raises(InputError, match="says: call 'dance' is unknown"):
        again._ask({"call": "dance"})
    again.close()


class Echo:
    """Answers with what it saw, at fault in one way."""

    name, hash, horizon = "echo", "1", 1

    def __init__(self):
        self.seen = []

    def reset(self, seeds, tasks):
        self.seen += [seeds, tasks]

    def act(self, observation):
        self.seen.append(observation)
        return observation["proprio"]


def in_thread(policy, contract=CONTRACT):
    """Serve one caller beside the test; returns the address."""
    told, ready = [], threading.Event()

    def say(address):
        told.append(address)
        ready.set()

    threading.Thread(target=serve, args=(policy, contract), kwargs={"ready": say, "callers": 1}, daemon=True).start()
    assert ready.wait(10)
    return told[0]


def test_observations_seeds_and_tasks_arrive_as_they_were_sent():
    echo = Echo()
    policy = RemotePolicy.connect(in_thread(echo), CONTRACT)
    policy.reset([5, 2**40, 1], TASKS)
    with pytest.raises(InputError, match=r"policy 'echo' answered with shape \(3, 2\)"):
        policy.act(OBSERVATION)
    assert echo.seen[:2] == [[5, 2**40, 1], TASKS]
    for key, value in OBSERVATION.items():
        np.testing.assert_array_equal(echo.seen[2][key], value)
        assert echo.seen[2][key].dtype == value.dtype


def test_a_policy_for_another_contract_is_refused():
    with pytest.raises(ContractError, match="acts for contract"):
        RemotePolicy.connect(in_thread(Echo(), pusht_contract(32)), CONTRACT)


def test_nobody_there_is_told():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(InputError, match="no policy answers at"):
        RemotePolicy.connect(str(port), CONTRACT)
    with pytest.raises(InputError, match="no policy answers at 'nowhere'"):
        RemotePolicy.connect("nowhere", CONTRACT)


def test_a_far_end_that_goes_away_is_told():
    near, far = socket.socketpair()
    send(far, {"name": "x", "hash": "y", "horizon": 1})
    policy = RemotePolicy(near, CONTRACT, "there")
    assert receive(far) == {"call": "hello"}
    far.close()
    with pytest.raises(DataError, match=r"the policy at there (went away|hung up)"):
        policy.reset([1], [Task()])


@pytest.mark.parametrize(
    "body",
    [
        b"\xc1",  # never used by msgpack
        pack({"a": 1})[5:],
        pack({"a": {"dtype": "|O", "shape": [1], "data": b"12345678"}})[4:],
        pack({"a": {"dtype": "<f4", "shape": [3], "data": b"1234"}})[4:],
        pack({"a": {"dtype": "<f4", "shape": [-1], "data": b"1234"}})[4:],
    ],
)
def test_damaged_messages_are_refused(body):
    with pytest.raises(DataError, match="a message"):
        unpack(body)


def test_what_has_no_form_cannot_be_sent():
    with pytest.raises(InputError, match="cannot be sent"):
        pack({"a": np.array([object()])})


def test_random_streams_do_not_depend_on_the_slot():
    policy = Random(CONTRACT, RandomSettings(hold=2, horizon=4))
    policy.reset([1, 2, 3], TASKS)
    first = [policy.act(OBSERVATION) for _ in range(2)]
    policy.reset([3, 1, 2], TASKS)
    np.testing.assert_array_equal(policy.act(OBSERVATION), first[0][[2, 0, 1]])
    np.testing.assert_array_equal(first[0][:, 0], first[0][:, 1])
    assert (first[0][:, 1] != first[0][:, 2]).any()
