"""IRASim (arXiv 2406.14540): spatial and temporal transformer blocks in turn, under actions of a frame or a clip."""

from world_model.models.irasim.config import SIZES, IrasimConfig, irasim
from world_model.models.irasim.model import Irasim

__all__ = ["SIZES", "Irasim", "IrasimConfig", "irasim"]
