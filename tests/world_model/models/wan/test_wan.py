"""The Wan backbone: diffusers' numbers, published sizes, and who sees whom."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

pytest.importorskip("diffusers")

from diffusers import WanTransformer3DModel

from tests.world_model.models.wan.tiny import GRID, NEW, SETTINGS, clip, levels, tiny, wan
from world_model.errors import DataError, InputError
from world_model.interface import Clip
from world_model.models import MODELS
from world_model.models.wan import PUBLISHED, WanConfig, WanVideo, begin_with, interpolated, read_transformer
from world_model.models.wan.block import Words, line_rotation, rotate
from world_model.models.wan.student import WanForcing, WanForcingConfig
from world_model.registry import build, to_dict


def transformer() -> WanTransformer3DModel:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        return WanTransformer3DModel(**{**PUBLISHED, **SETTINGS}).eval()


def velocity(model: WanVideo, of: Clip, level: float = 0.7) -> torch.Tensor:
    context = model.condition(of.history(0, 1), of.actions)
    return model.of_new(of.latents[:, 1:], levels(level), context).latents


def test_the_video_expert_is_diffusers_network() -> None:
    net, model = transformer(), wan(action_width=0, told_proprio=0)
    begin_with(model, net, "memory")
    frames, text = torch.randn(2, 3, 4, *GRID), torch.randn(2, 5, 10)
    times = torch.tensor([[0.0, 700.0, 700.0], [0.0, 300.0, 300.0]])
    places = GRID[0] * GRID[1] // 4
    with torch.no_grad():
        words = model.video.words(text, torch.ones(2, 5, dtype=torch.bool))
        ours, _ = model.video(frames, times, words, [], 0)
        theirs = net(frames.transpose(1, 2), times.repeat_interleave(places, 1), text).sample
    torch.testing.assert_close(ours, theirs.transpose(1, 2), rtol=1e-4, atol=1e-5)


def test_published_sizes() -> None:
    with torch.device("meta"):
        model, published = WanForcing(WanForcingConfig()), WanTransformer3DModel(**PUBLISHED)
    counts = {
        "video": sum(p.numel() for p in model.video.video.parameters()),
        "action": sum(p.numel() for p in model.video.action.parameters()),
        "told": sum(p.numel() for p in model.told.parameters()),
    }
    assert counts["video"] == sum(p.numel() for p in published.parameters()) == 4_999_787_712
    assert counts["action"] == pytest.approx(1.0e9, rel=0.03)
    assert counts["told"] == 30 * (48 * 3072 * 4 + 3072) == 17_786_880
    own = {name: value.shape for name, value in model.video.video.net.state_dict().items()}
    assert own == {name: value.shape for name, value in published.state_dict().items()}
    assert WanConfig().depth == 30
    assert WanConfig().dim == 3072


def test_known_frames_see_each_other_and_the_actions_only() -> None:
    """Joint attention with the published mask, written out over all tokens at once."""
    model = wan()
    block = model.video.net.blocks[0]
    x, outside = torch.randn(1, 3, 6, 24), torch.randn(2, 1, 2, 5, 12)
    places, count = 6, 18
    mask = torch.zeros(count, count + 5, dtype=torch.bool)
    mask[:places, :places] = mask[places:, :count] = mask[:, count:] = True
    rotation = line_rotation(count, 12, x.device)
    words, times = Words(torch.randn(1, 2, 24), torch.ones(1, 2, dtype=torch.bool)), torch.randn(1, 3, 6, 24)
    with torch.no_grad():
        made, (key, value) = block(x, times, words, rotation, (outside[0], outside[1]), alone=1)
        shift, scale, gate, late_shift, late_scale, late_gate = (block.scale_shift_table + times).chunk(6, dim=2)
        entered = (block.norm1(x) * (1 + scale) + shift).flatten(1, 2)
        query = rotate(block.attn1.norm_q(block.attn1.to_q(entered)).unflatten(2, (2, 12)), rotation).transpose(1, 2)
        keys, values = torch.cat([key, outside[0]], 2), torch.cat([value, outside[1]], 2)
        scores = (query @ keys.transpose(-1, -2) / 12**0.5).masked_fill(~mask, -torch.inf)
        joint = (scores.softmax(-1) @ values).transpose(1, 2).flatten(2)
        after = x + block.attn1.to_out[0](joint).reshape(x.shape) * gate
        after = after + block.attn2(block.norm2(after).flatten(1, 2), words.tokens).reshape(x.shape)
        wanted = after + block.ffn(block.norm3(after) * (1 + late_scale) + late_shift) * late_gate
    torch.testing.assert_close(made, wanted, rtol=1e-4, atol=1e-5)


def test_what_matters_to_new_frames() -> None:
    model, side = wan(), clip()
    with torch.no_grad():
        plain = velocity(model, side)
        assert plain.shape == (2, NEW, 4, *GRID)
        moved = side.actions.clone()
        moved[:, -1] += 1
        actions = Clip(side.latents, side.proprio, moved, side.valid)
        proprio = Clip(side.latents, side.proprio + 1, side.actions, side.valid)
        text = Clip(side.latents, side.proprio, side.actions, side.valid, text=torch.randn(2, 3, 10))
        for other in (actions, proprio, text):
            assert (velocity(model, other) - plain).abs().max() > 1e-4
        own = Clip(side.latents, side.proprio, side.actions, side.valid, text=model.text.expand(2, -1, -1))
        torch.testing.assert_close(velocity(model, own), plain)
        known, level = side.history(0, 1), levels(0.7)
        free = model.of_new(side.latents[:, 1:], level, model.unconditioned(known, side.actions)).latents
        still = Clip(side.latents, side.proprio, torch.zeros_like(moved), side.valid)
        torch.testing.assert_close(free, velocity(model, still))


def test_padding_of_the_text_is_not_seen() -> None:
    longer = wan(text_tokens=9)
    short = wan()
    longer.load_state_dict({**short.state_dict(), "text": torch.cat([short.text, torch.zeros(6, 10)])})
    with torch.no_grad():
        torch.testing.assert_close(velocity(longer, clip()), velocity(short, clip()))


def test_a_batch_is_its_rows_and_the_known_frame_has_time_zero() -> None:
    model, side = wan(), clip()
    with torch.no_grad():
        both = velocity(model, side)
        one = Clip(side.latents[:1], side.proprio[:1], side.actions[:1], side.valid[:1])
        context = model.condition(one.history(0, 1), one.actions)
        alone = model.of_new(one.latents[:, 1:], levels(0.7, 1), context).latents
    torch.testing.assert_close(alone[0], both[0], rtol=1e-4, atol=1e-5)
    seen: list[torch.Tensor] = []
    model.video.register_forward_pre_hook(lambda _, given: seen.append(given[1]))
    velocity(model, side)
    assert seen[0].tolist() == [[0.0, 700.0, 700.0]] * 2 or torch.allclose(seen[0][:, 0], torch.zeros(2))


def test_stage_1_trains_all_but_the_last_block_s_end_and_again_in_pieces_alike() -> None:
    side = clip()
    gradients = []
    for checkpointing in (False, True):
        model = wan(checkpointing=checkpointing)
        loss, _ = model.loss(side, torch.Generator().manual_seed(0))
        loss.backward()
        gradients.append({name: p.grad for name, p in model.named_parameters() if p.requires_grad})
    assert [name for name, g in gradients[0].items() if g is None] == []
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradients[1][name], gradient, msg=name)


def test_the_action_expert_s_weights_are_interpolated() -> None:
    video = {
        "blocks.0.ffn.net.2.weight": torch.arange(9.0).repeat(5, 1),
        "blocks.0.ffn.net.2.bias": torch.arange(5.0),
        "only.video": torch.zeros(1),
    }
    action = {
        "blocks.0.ffn.net.2.weight": torch.zeros(3, 4),
        "blocks.0.ffn.net.2.bias": torch.zeros(3),
        "action_encoder.weight": torch.zeros(1),
    }
    made = interpolated(video, action)
    assert set(made) == {"blocks.0.ffn.net.2.weight", "blocks.0.ffn.net.2.bias"}
    row = torch.tensor([0, 8 / 3, 16 / 3, 8]) * (9 / 4) ** 0.5
    torch.testing.assert_close(made["blocks.0.ffn.net.2.weight"], row.repeat(3, 1))
    assert made["blocks.0.ffn.net.2.bias"].tolist() == [0, 2, 4]


def test_weights_from_a_folder(tmp_path: Path) -> None:
    net = transformer()
    net.save_pretrained(tmp_path / "transformer")
    model = wan()
    begin_with(model, read_transformer(tmp_path), tmp_path)
    for name, value in net.state_dict().items():
        assert torch.equal(model.video.net.state_dict()[name], value)
    key = "blocks.0.attn1.to_k.weight"
    wanted = interpolated({key: net.state_dict()[key]}, {key: model.action.state_dict()[key]})  # type: ignore[union-attr]
    torch.testing.assert_close(model.action.state_dict()[key], wanted[key])  # type: ignore[union-attr]
    with pytest.raises(DataError, match="no Wan transformer"):
        read_transformer(tmp_path / "none")
    with pytest.raises(DataError, match="ffn_dim 32 but the model 64"):
        begin_with(wan(settings={**SETTINGS, "ffn_dim": 64}), net, "there")


def test_registry_and_mistakes() -> None:
    model = wan()
    again = build(MODELS, to_dict(MODELS, model), "test")
    again.load_state_dict(model.state_dict())
    assert torch.equal(velocity(again, clip()), velocity(model, clip()))
    with pytest.raises(InputError, match="settings name 'layers'"):
        tiny(settings={**SETTINGS, "layers": 3})
    with pytest.raises(InputError, match="4 k new ones"):
        tiny(frames=8)
    with pytest.raises(InputError, match=r"embedding has shape \(4, 10\)"):
        model.set_text(torch.zeros(4, 10))
