"""Names and shapes of the published U-Net's state dict, on the meta device."""

from __future__ import annotations

import torch


def published_unet(dim: int, channels: int, actions: int, frames: int = 16, heads: int = 8) -> dict[str, torch.Tensor]:
    widths, wide, condition = [dim, dim, 2 * dim, 4 * dim, 8 * dim], 32 * heads, 768
    shapes: dict[str, tuple[int, ...]] = {
        "time_rel_pos_bias.relative_attention_bias.weight": (32, heads),
        "null_cond_emb": (1, condition),
    }

    def layer(name: str, *weight: int, bias: bool = True) -> None:
        shapes[f"{name}.weight"] = weight
        if bias:
            shapes[f"{name}.bias"] = weight[:1]

    def block(name: str, inputs: int, outputs: int, timed: bool = True) -> None:
        if timed:
            layer(f"{name}.mlp.1", 2 * outputs, 4 * dim + condition)
        for number, width in ((1, inputs), (2, outputs)):
            layer(f"{name}.block{number}.proj", outputs, width, 1, 3, 3)
            layer(f"{name}.block{number}.norm", outputs)
        if inputs != outputs:
            layer(f"{name}.res_conv", outputs, inputs, 1, 1, 1)

    def attention(name: str, width: int, rotary: bool = True) -> None:
        shapes[f"{name}.fn.norm.gamma"] = (1, width, 1, 1, 1)
        layer(f"{name}.fn.fn.fn.to_qkv", 3 * wide, width, bias=False)
        layer(f"{name}.fn.fn.fn.to_out", width, wide, bias=False)
        if rotary:
            shapes[f"{name}.fn.fn.fn.rotary_emb.freqs"] = (16,)

    def level(name: str, inputs: int, outputs: int, sampled: bool) -> None:
        block(f"{name}.0", inputs, outputs)
        block(f"{name}.1", outputs, outputs)
        shapes[f"{name}.2.fn.norm.gamma"] = (1, outputs, 1, 1, 1)
        layer(f"{name}.2.fn.fn.to_qkv", 3 * wide, outputs, 1, 1, bias=False)
        layer(f"{name}.2.fn.fn.to_out", outputs, wide, 1, 1)
        attention(f"{name}.3", outputs)
        if sampled:
            layer(f"{name}.4", outputs, outputs, 1, 4, 4)

    layer("init_conv", dim, channels, 1, 7, 7)
    attention("init_temporal_attn", dim)
    layer("time_mlp.1", 4 * dim, dim)
    layer("time_mlp.3", 4 * dim, 4 * dim)
    layer("embed_state.fc1", 4 * condition, (frames - 1) * actions)
    layer("embed_state.fc2", condition, 4 * condition)
    for k in range(4):
        level(f"downs.{k}", widths[k], widths[k + 1], k < 3)
        level(f"ups.{k}", 2 * widths[4 - k], widths[3 - k], k < 3)
    block("mid_block1", widths[4], widths[4])
    block("mid_block2", widths[4], widths[4])
    attention("mid_spatial_attn", widths[4], rotary=False)
    attention("mid_temporal_attn", widths[4])
    block("final_conv.0", 2 * dim, dim, timed=False)
    layer("final_conv.1", channels, dim, 1, 1, 1)
    return {name: torch.empty(shape, device="meta") for name, shape in shapes.items()}
