"""The linear codec on canvases of several cameras."""

from __future__ import annotations

import pytest
import torch

from world_model.codecs.pca import PcaCodec, PcaConfig, fit_pca
from world_model.errors import InputError


def test_views_become_channels_of_one_grid() -> None:
    """A canvas of two pictures is coded as the two pictures are, each with channels of its own."""
    canvas = torch.randint(0, 256, (3, 8, 16, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    codec = fit_pca(canvas, PcaConfig(patch=4, channels=48, views=2))
    single = PcaCodec(PcaConfig(patch=4, channels=48))
    single.load_state_dict(codec.state_dict())
    latents = codec.encode(canvas)
    assert latents.shape == (3, 96, 2, 2)
    torch.testing.assert_close(latents[:, 48:], single.encode(canvas[:, :, 8:]))
    torch.testing.assert_close(codec.decode(latents) * 255, canvas.float(), atol=0.1, rtol=0)
    with pytest.raises(InputError, match="3 equal views"):
        PcaCodec(PcaConfig(patch=4, channels=48, views=3)).encode(canvas)
