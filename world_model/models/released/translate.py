"""Names and shapes of the published state dicts, and the config that they tell of."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from world_model.errors import DataError
from world_model.models.irasim.config import SIZES, IrasimConfig
from world_model.models.layers import sincos_1d, sincos_2d
from world_model.models.released.reading import Released
from world_model.models.video_unet.config import VideoUNetConfig

Names = tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...]

TRANSFORMER: Names = (
    (r"x_embedder\.proj\.(\w+)", r"stem.proj.\1"),
    (r"t_embedder\.(mlp\.\d\.\w+)", r"noise_level.\1"),
    (r"(blocks\.\d+\.(?:attn\.(?:qkv|proj)|mlp\.fc[12])\.\w+)", r"\1"),
    (r"(blocks\.\d+)\.adaLN_modulation\.1\.(\w+)", r"\1.modulation.1.\2"),
    (r"final_layer\.adaLN_modulation\.1\.(\w+)", r"modulation.1.\1"),
    (r"final_layer\.(linear\.\w+)", r"head.\1"),
    (r"mask_emb_fn\.weight", "actions.unknown"),
)
_EACH: Names = ((r"embed_state\.(fc[12]\.\w+)", r"actions.each.\1"),)
_WHOLE: Names = ((r"embed_state\.(fc[12]\.\w+)", r"actions.trajectory.\1"),)
_PAIR: Names = (
    (r"embed_arm_state\.(\w+)", r"actions.each.fc1.\1"),
    (r"embed_state\.(weight|bias)", r"actions.each.fc2.\1"),
    (r"mlp\.(fc[12]\.\w+)", r"actions.trajectory.\1"),
)
_LEVEL = {"0": "block1", "1": "block2", "2": "spatial", "3": "temporal"}
_BLOCK: Names = (
    (r"mlp\.1\.", "condition."),
    (r"block([12])\.proj\.", r"conv\1."),
    (r"block([12])\.norm\.", r"norm\1."),
    (r"res_conv\.", "around."),
)
_ATTENTION: Names = ((r"fn\.norm\.gamma", "norm.gamma"), (r"(?:fn\.)+to_qkv\.", "qkv."), (r"(?:fn\.)+to_out\.", "out."))
_WAYS: Mapping[str, Callable[[Mapping[str, Tensor], Mapping[str, Any]], tuple[Any, dict[str, Tensor]]]]


def translate(released: Released, file: str) -> tuple[Any, dict[str, Tensor]]:
    """The config of a published model, and its weights under our names.

    Raises:
        DataError: a key or shape that no published model has.
    """
    weights = released.weights
    way = next((way for key, way in _WAYS.items() if key in weights), None)
    if way is None:
        raise DataError(f"{file} holds {min(weights)!r} and the like, not one of IRASim's models; give their .pt file")
    try:
        return way(weights, released.arguments)
    except (KeyError, IndexError, ZeroDivisionError) as error:
        raise DataError(
            f"{file} has no {error}, which IRASim's models have; use the file as it was published"
        ) from error


def _irasim(weights: Mapping[str, Tensor], arguments: Mapping[str, Any]) -> tuple[IrasimConfig, dict[str, Tensor]]:
    patch_weight, frames = weights["x_embedder.proj.weight"], weights["temp_embed"].shape[1]
    dim, channels, patch, _ = patch_weight.shape
    depth = 1 + max(int(key.split(".")[1]) for key in weights if key.startswith("blocks."))
    heads = next((heads for d, w, heads in SIZES.values() if (d, w) == (depth, dim)), None)
    if heads is None:
        raise DataError(f"a model of depth {depth} and width {dim} is none of the published sizes {', '.join(SIZES)}")
    outputs = weights["final_layer.linear.weight"].shape[0] // patch**2
    if outputs != channels:
        raise DataError(
            f"the model answers {outputs} channels for {channels} (learned variances); none is published so"
        )
    pair = "embed_arm_state.weight" in weights
    first = weights["embed_arm_state.weight" if pair else "embed_state.fc1.weight"].shape[1]
    whole = "mlp.fc1.weight" in weights if pair else first % (frames - 1) == 0 and first >= 2 * (frames - 1)
    video = arguments.get("extras", 5 if whole else 3) == 5
    rows = _rename(weights, TRANSFORMER + (_PAIR if pair else _WHOLE if video else _EACH), ("pos_embed", "temp_embed"))
    rows["actions.unknown"] = rows["actions.unknown"][0]
    if not torch.allclose(weights["temp_embed"][0].float(), sincos_1d(frames, dim), atol=1e-3):
        raise DataError("the positions in time are not the published ones; the weights are of another network")
    config = IrasimConfig(
        action_dim=first // (frames - 1) if video and not pair else first,
        latent_channels=channels,
        frames=frames,
        history=int(arguments.get("mask_frame_num", 1)),
        grid=_grid(weights["pos_embed"][0].float(), patch),
        patch=patch,
        depth=depth,
        dim=dim,
        heads=heads,
        conditioning="video" if video else "frame",
        embedding="linear" if pair else "mlp",
        final_frame_ada=bool(arguments.get("final_frame_ada", False)) and not video,
    )
    return config, rows


def _grid(places: Tensor, patch: int) -> tuple[int, int]:
    """Rows and columns of the latents, from the table of fixed positions ``(P, D)``."""
    count, dim = places.shape
    for rows in (r for r in range(1, count + 1) if count % r == 0):
        if torch.allclose(places, sincos_2d(rows, count // rows, dim), atol=1e-3):
            return rows * patch, count // rows * patch
    raise DataError("the positions in the picture are not the published ones; the weights are of another network")


def _unet(weights: Mapping[str, Tensor], arguments: Mapping[str, Any]) -> tuple[VideoUNetConfig, dict[str, Tensor]]:
    enter, levels = weights["init_conv.weight"], 0
    while f"downs.{levels}.0.block1.proj.weight" in weights:
        levels += 1
    dim, channels = enter.shape[:2]
    actions, frames = weights["embed_state.fc1.weight"].shape[1], int(arguments.get("num_frames", 16))
    if actions % (frames - 1):
        raise DataError(f"an embedding of {actions} numbers does not fit {frames} frames; use the published file")
    names: Names = (
        (r"time_rel_pos_bias\.relative_attention_bias\.weight", "distance.weight"),
        (r"init_conv\.(\w+)", r"enter.\1"),
        (r"init_temporal_attn\.(.+)", r"enter_time.\1"),
        (r"time_mlp\.([13])\.(\w+)", lambda m: f"time.{int(m[1]) - 1}.{m[2]}"),
        (r"embed_state\.(.+)", r"trajectory.\1"),
        (r"null_cond_emb", "unknown"),
        (r"downs\.(\d+)\.4\.(\w+)", r"shrink.\1.\2"),
        (r"ups\.(\d+)\.4\.(\w+)", r"grow.\1.\2"),
        (r"(down|up)s\.(\d+)\.([0-3])\.(.+)", lambda m: f"{m[1]}.{m[2]}.{_LEVEL[m[3]]}.{m[4]}"),
        (r"mid_block([12])\.(.+)", r"middle\1.\2"),
        (r"mid_spatial_attn\.(.+)", r"middle_space.\1"),
        (r"mid_temporal_attn\.(.+)", r"middle_time.\1"),
        (r"final_conv\.0\.(.+)", r"leave.\1"),
        (r"final_conv\.1\.(.+)", r"out.\1"),
    )
    rows = _rename(weights, names, tuple(key for key in weights if key.endswith("rotary_emb.freqs")))
    inner = {}
    for key, value in rows.items():
        for pattern, ours in (*_ATTENTION, *_BLOCK):
            key = re.sub(pattern, ours, key)
        if key.endswith("norm.gamma"):
            value = value.flatten()
        inner[key] = value.squeeze(2) if value.ndim == 5 else value  # every kernel is one frame long
    inner["unknown"] = inner["unknown"][0]
    heads = weights["time_rel_pos_bias.relative_attention_bias.weight"].shape[1]
    config = VideoUNetConfig(
        action_dim=actions // (frames - 1),
        latent_channels=channels,
        frames=frames,
        history=int(arguments.get("mask_frame_num", 1)),
        dim=dim,
        mults=tuple(weights[f"downs.{k}.0.block1.proj.weight"].shape[0] // dim for k in range(levels)),
        heads=heads,
        head_dim=weights["mid_spatial_attn.fn.fn.fn.to_out.weight"].shape[1] // heads,
        condition_dim=weights["null_cond_emb"].shape[1],
    )
    return config, inner


def _rename(weights: Mapping[str, Tensor], names: Names, left_out: tuple[str, ...]) -> dict[str, Tensor]:
    renamed = {}
    for key, value in weights.items():
        if key in left_out:
            continue
        found = next(((p, ours) for p, ours in names if re.fullmatch(p, key)), None)
        if found is None:
            raise DataError(f"the key {key!r} is in none of IRASim's models; use the file as it was published")
        renamed[re.sub(*found, key)] = value
    return renamed


_WAYS = {"x_embedder.proj.weight": _irasim, "init_conv.weight": _unet}
"""A key that tells the kind of model."""
