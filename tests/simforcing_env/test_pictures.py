import av
import numpy as np
from PIL import Image

from simforcing_env.pictures import caption, column, row, write_mp4, write_png


def test_rows_and_columns():
    a, b = np.zeros((2, 3, 3), np.uint8), np.full((2, 1, 3), 9, np.uint8)
    side = row([a, b], gap=2)
    assert side.shape == (2, 6, 3)
    assert side[0, :, 0].tolist() == [0, 0, 0, 255, 255, 9]
    stack = column([a, b], gap=1)
    assert stack.shape == (5, 3, 3)
    assert stack[3:, :, 0].tolist() == [[9, 255, 255], [9, 255, 255]]


def test_captions_have_the_size_asked_for():
    text = caption("coverage", 80)
    assert text.shape == (18, 80, 3)
    assert (text < 100).any()
    assert (caption("", 10, 5) == 255).all()


def test_png_is_exact(tmp_path):
    picture = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    write_png(tmp_path / "new" / "a.png", picture)
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "new" / "a.png")), picture)
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["a.png"]


def test_mp4_plays(tmp_path):
    """Odd sides lose their last pixel; colours stay close."""
    frames = [np.full((33, 47, 3), value, np.uint8) for value in (20, 120, 220)]
    write_mp4(tmp_path / "a.mp4", frames, 10)
    with av.open(str(tmp_path / "a.mp4")) as film:
        assert film.streams.video[0].codec_context.pix_fmt == "yuv420p"
        assert film.streams.video[0].average_rate == 10
        read = [frame.to_ndarray(format="rgb24") for frame in film.decode(video=0)]
    assert [picture.shape for picture in read] == [(32, 46, 3)] * 3
    for picture, value in zip(read, (20, 120, 220), strict=True):
        assert np.abs(picture.astype(int) - value).max() < 4


def test_a_wide_picture_is_shrunk_as_asked(tmp_path):
    picture = np.full((40, 200, 3), 77, np.uint8)
    write_png(tmp_path / "wide.png", picture, widest=100)
    write_png(tmp_path / "as_it_is.png", picture, widest=200)
    with Image.open(tmp_path / "wide.png") as small, Image.open(tmp_path / "as_it_is.png") as same:
        assert small.size == (100, 20)
        assert np.asarray(small).min() == np.asarray(small).max() == 77
        np.testing.assert_array_equal(np.asarray(same), picture)
