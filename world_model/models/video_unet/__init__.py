"""The published baselines: a 3-D U-Net over pixels (VDM) or over latents (LVDM), told the trajectory with the time."""

from world_model.models.video_unet.config import VideoUNetConfig, lvdm, vdm
from world_model.models.video_unet.model import VideoUNet

__all__ = ["VideoUNet", "VideoUNetConfig", "lvdm", "vdm"]
