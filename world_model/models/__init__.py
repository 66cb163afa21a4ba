"""Model forms behind one interface; ``MODELS`` maps a kind to its configuration and class."""

from world_model.models.irasim import Irasim, IrasimConfig
from world_model.models.key_points import KeyPointConfig, KeyPointNet
from world_model.models.next_frame import NextFrameConfig, NextFrameNet
from world_model.models.sim_student import KeyForcing, KeyForcingConfig, SimForcing, SimForcingConfig
from world_model.models.transformer import FactorisedTransformer, TransformerConfig
from world_model.models.video_unet import VideoUNet, VideoUNetConfig
from world_model.models.wan import WanConfig, WanVideo
from world_model.models.wan.student import WanForcing, WanForcingConfig

MODELS = {
    "irasim": (IrasimConfig, Irasim),
    "key_points": (KeyPointConfig, KeyPointNet),
    "key_simforcing": (KeyForcingConfig, KeyForcing),
    "next_frame": (NextFrameConfig, NextFrameNet),
    "simforcing": (SimForcingConfig, SimForcing),
    "transformer": (TransformerConfig, FactorisedTransformer),
    "video_unet": (VideoUNetConfig, VideoUNet),
    "wan": (WanConfig, WanVideo),
    "wan_simforcing": (WanForcingConfig, WanForcing),
}
