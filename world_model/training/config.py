"""Everything that a training run depends on, in one frozen record that is saved beside its checkpoints."""

from __future__ import annotations

from dataclasses import dataclass, field

from world_model.errors import InputError
from world_model.training.state_encoding import Encoding, StateEncoding
from world_model.training.windows import WindowConfig

PRECISIONS = ("auto", "bf16", "no")


@dataclass(frozen=True)
class OptimConfig:
    """AdamW with warm-up, cosine decay, clipping and a moving average of the weights."""

    learning_rate: float = 8e-4
    """More than about 1e-3 gets stuck at copying the last frame."""
    final_rate: float = 0.02
    """Learning rate at the end, as a part of ``learning_rate``."""
    weight_decay: float = 0.01
    betas: tuple[float, float] = (0.9, 0.95)
    warmup: int = 100
    clip: float = 1.0
    ema: float = 0.999


@dataclass(frozen=True)
class TrainConfig:
    """A training run; see ``simforcing train --help``."""

    model: dict[str, object] = field(default_factory=dict)
    """``{"kind": ..., **fields}`` for `world_model.models.MODELS`."""
    state: Encoding = field(default_factory=StateEncoding)
    windows: WindowConfig = field(default_factory=WindowConfig)
    optim: OptimConfig = field(default_factory=OptimConfig)
    batch: int = 16
    """Windows a step; 0 leaves their loss out, and frames are not looked at."""
    sequences: int = 0
    """Frameless sequences a step, for models with a ``sequence_loss``; 0 leaves that loss out."""
    sequence_length: int = 19
    """Frames of such a sequence, the history included."""
    sequence_weight: float = 0.2
    seed: int = 0
    steps: int = 20_000
    """End of the cosine schedule; a time budget shortens it."""
    precision: str = "auto"
    """auto (bf16 where the processor has it), bf16 or no (float32)."""
    checkpoint_seconds: float = 180.0
    validate_seconds: float = 300.0
    log_every: int = 25
    overfit_steps: int = 150
    """Steps of the overfit check on 16 clips before a new run; 0 leaves it out."""
    validation_clips: int = 48
    validation_frames: int = 16

    def __post_init__(self) -> None:
        if self.batch < 0 or self.sequences < 0 or not self.batch + self.sequences:
            raise InputError(
                f"train.batch is {self.batch} and train.sequences {self.sequences} but one must be at least 1; raise it"
            )
        for name in ("steps", "log_every", "validation_clips", "validation_frames"):
            if getattr(self, name) < 1:
                raise InputError(f"train.{name} is {getattr(self, name)} but must be at least 1; raise it")
        if self.precision not in PRECISIONS:
            raise InputError(f"train.precision is {self.precision!r} but must be one of {', '.join(PRECISIONS)}")
        if not 1 <= self.windows.history < self.windows.length:
            raise InputError(
                f"train.windows holds {self.windows.history} known frames of {self.windows.length} but needs at least "
                "1 and one to generate; correct them"
            )
