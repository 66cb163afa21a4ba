import numpy as np

from world_model.noise import branch_seeds, frame_generator, frame_noise


def test_a_row_depends_on_its_seed_frame_and_step_only():
    frames = np.array([[4, 5, 6], [4, 5, 6], [9, 10, 11]])
    noise = frame_noise(np.array([7, 8, 7]), frames, 0, (2, 3))
    alone = frame_noise(np.array([7]), np.array([[5]]), 0, (2, 3))
    np.testing.assert_array_equal(noise[0, 1], alone[0, 0])
    distinct = {noise[i, j].tobytes() for i in range(3) for j in range(3)}
    distinct.add(frame_noise(np.array([7]), np.array([[5]]), 1, (2, 3))[0, 0].tobytes())
    assert len(distinct) == 10


def test_noise_is_the_documented_philox_stream():
    expected = np.random.Generator(np.random.Philox(key=[3, 12], counter=[0, 0, 0, 2])).standard_normal(6, np.float32)
    np.testing.assert_array_equal(frame_noise(np.array([3]), np.array([[12]]), 2, (6,))[0, 0], expected)
    assert frame_generator(-1, 0, 0).random() == frame_generator(2**64 - 1, 0, 0).random()


def test_noise_is_standard_normal():
    noise = frame_noise(np.arange(50), np.arange(50)[:, None], 0, (1000,))
    assert abs(noise.mean()) < 0.02
    assert abs(noise.std() - 1) < 0.02


def test_branch_seeds_differ_from_each_other_and_repeat():
    seeds = branch_seeds(5, 8)
    assert len({5, *seeds.tolist()}) == 9
    assert (seeds >= 0).all()
    np.testing.assert_array_equal(seeds, branch_seeds(5, 8))
    np.testing.assert_array_equal(seeds[:3], branch_seeds(5, 3))
