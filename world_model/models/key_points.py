"""Form e: read key points once, foresee them frame by frame, draw every frame from an anchor and the forecast.

Three networks that are trained apart and meet at run time:

- the reader encodes one true frame, the *anchor* (the frame that an episode begins with), and reads from it the
  teacher's state: key points of the objects, a training target only. Frames, proprio and actions are all that is
  needed at run time;
- the foreseer maps (key points, proprio, actions) to the next ones; it sees no pixels, so it is trained on long
  unrolled sequences for the price of a few frames;
- the drawer, a denoiser, draws the frame in which the things of the anchor stand where the forecast says.

The anchor's features and the key points are the model's memory. No network ever looks at a generated frame, so flaws
of drawing are not taken for movement and do not add up: what adds up over a rollout is the foreseer's error alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from world_model.diffusion.flow import NoiseConfig, add_noise, channel_error, draw_levels, draw_noise
from world_model.errors import InputError
from world_model.interface import Clip, Denoised, History
from world_model.models.anchor import Anchor, Aside, Context, Step, forget, limit_gradient
from world_model.models.forecast import (
    Doubt,
    ForecastConfig,
    Foreseer,
    PointReader,
    SceneReader,
    doubt_loss,
    step_error,
)
from world_model.models.layers import TimestepEmbedding, fourier
from world_model.models.lesson import Lesson, Places
from world_model.models.step_condition import StepCondition, StepConditionConfig, check_pairs, last_frames
from world_model.models.unet import DRAWING, Added, Drawer, Encoder, UNetConfig
from world_model.models.views import PlanarMaps, SceneConfig, SceneMaps
from world_model.rules import FLAG, Number, Whole, settle


@dataclass(frozen=True)
class KeyPointConfig:
    """Sizes and loss weights."""

    step: StepConditionConfig
    forecast: ForecastConfig
    proprio_points: tuple[int, ...] = ()
    """Proprio dimensions that are x, y, x, y, ... of points in the picture, each from -1 to 1 from edge to edge."""
    scene: SceneConfig | None = None
    """Cameras of a scene in space, each with an equal share of the latent channels in this order; None: the state is
    points in the plane of the picture."""
    latent_channels: int = 16
    grid: tuple[int, int] = (16, 16)
    unet: UNetConfig = field(default_factory=UNetConfig)
    condition_dim: int = 256
    prediction: str = "x0"
    gated: bool = False
    """Say in every cell of each view how much of the anchor stays, so that what has left it can be wiped out; without,
    all of it stays and the drawing is added."""
    noise: NoiseConfig = field(default_factory=NoiseConfig)
    pairs: int = 6
    """Pairs of anchor and target frame that are drawn from each training window."""
    anchors: int = 0
    """Anchors that they share, to save time; 0 gives each pair its own."""
    forget: float = 0.1
    """Share of pairs in which the drawer does not see the anchor, so that it learns to draw from the forecast alone."""
    read_weight: float = 0.1
    state_noise: float = 0.002
    channel_weights: tuple[float, ...] = ()
    """Weight of each latent channel in the loss, e.g. the codec's squared scales."""

    def __post_init__(self) -> None:
        settle(self, DRAWING)
        settle(self, {"pairs": Whole(1, 65_536), "forget": Number(0, 1), "read_weight": Number(0, 1e6)})
        settle(self, {"state_noise": Number(1e-6, 1), "gated": FLAG, "anchors": Whole(0, 65_536)})
        if self.anchors and self.pairs % self.anchors:
            raise InputError(f"pairs is {self.pairs}, which {self.anchors} anchors cannot share; use a multiple")
        if self.gated and self.prediction == "v":
            raise InputError("gated says how much of the anchor stays, but with prediction 'v' none does; use 'x0'")
        check_pairs("forecast.relative", self.forecast.relative, self.step.proprio_dim, self.forecast.state_dim)


class KeyPointNet(nn.Module):
    """`WorldModel` that generates one frame a call."""

    frames_per_call: ClassVar[int] = 1
    stays: Tensor

    def __init__(self, config: KeyPointConfig) -> None:
        super().__init__()
        if config.forecast.state_dim < 2:
            raise InputError(
                f"state_dim is {config.forecast.state_dim} but this form needs key points; give at least 2"
            )
        self.config = config
        width, deep = config.unet.width, config.unet.deep_width
        dim, channels = config.condition_dim, config.latent_channels
        rows, columns = config.grid
        self.shapes = ((channels, rows, columns), (width, rows, columns), (deep, rows // 2, columns // 2))
        self._anchors = config.anchors or config.pairs
        self.state_dim = config.forecast.state_dim
        self.memory_dim = config.forecast.state_dim + 1 + sum(math.prod(s) for s in self.shapes)
        # reader
        self.encode_condition = nn.Parameter(torch.zeros(dim))
        self.encoder = Encoder(config.unet, channels, dim)
        forecast, proprio_dim = config.forecast, config.step.proprio_dim
        self.reader = (
            SceneReader(forecast, width, deep, config.grid, proprio_dim)
            if forecast.soft_points
            else PointReader(forecast.state_dim // 2, width, deep, config.grid)
        )
        # foreseer
        self.step = StepCondition(config.step, dim)
        self.foreseer = Foreseer(forecast, dim, proprio_dim)
        self.doubt = Doubt(forecast.hidden)
        # drawer
        self.noise_level = TimestepEmbedding(dim)
        numbers = proprio_dim + forecast.state_dim
        places = fourier(torch.zeros(1, numbers), config.step.octaves).shape[-1]
        self.draw_condition = nn.Sequential(nn.Linear(places + 2 * dim, dim), nn.SiLU(), nn.Linear(dim, dim), nn.SiLU())
        self.draw_points = (
            SceneMaps(config.scene, width, config.grid)
            if config.scene
            else PlanarMaps(config.proprio_points, forecast.state_dim, width, config.grid)
        )
        views = config.scene.views if config.scene else ()
        # What a camera on the hand saw at first is no first guess at what it sees now.
        stays = [0.0 if view.mounted else 1.0 for view in views] or [1.0]
        per_view = torch.tensor(stays).repeat_interleave(channels // len(stays))
        self.register_buffer("stays", per_view[:, None, None], persistent=False)  # (C, 1, 1)
        self.gates = len(stays) if config.gated else 0
        seen = 2 * channels + self.draw_points.channels
        self.drawer = Drawer(config.unet, seen, channels + self.gates, dim)
        if self.gates and self.drawer.out.bias is not None:
            nn.init.constant_(self.drawer.out.bias[channels:], _OPEN)

    def look(self, latents: Tensor, proprio: Tensor) -> Anchor:
        """Encode and read frames ``(B, C, U, V)`` with their proprio ``(B, P)``."""
        condition = F.silu(self.encode_condition).expand(len(latents), -1)
        features, deep = self.encoder(latents, condition)
        doubt = latents.new_full((len(latents), 1), 2 * math.log(self.config.state_noise))
        return Anchor(latents, features, deep, self.reader(features, deep, proprio), doubt)

    def read_state(self, latents: Tensor, proprio: Tensor) -> Tensor:
        """See `WorldModel`."""
        return self.look(latents, proprio).state

    def condition(self, history: History, actions: Tensor) -> Context:
        """See `WorldModel.condition`; ``actions`` ``(B, 1, a, A)``.

        Rows without memory take the last frame as their anchor.
        """
        anchor = self._recall(history)
        history = last_frames(history, self.config.step.history)
        condition = self.step(history, actions)
        proprio, state, hidden = self.foreseer(condition, history.proprio[:, -1], anchor.state)
        return Context(anchor, condition, proprio, state, self.doubt(hidden, anchor.doubt))

    def denoise(self, noisy: Tensor, noise_level: Tensor, context: Context) -> Denoised:
        """See `WorldModel.denoise`; n is 1."""
        made, log_error = self.draw(noisy[:, 0], noise_level[:, 0], context)
        log_error = torch.logaddexp(log_error, self.doubt.latent_error(context.doubt.exp()).log())
        memory = self._remember(replace(context.anchor, state=context.state, doubt=context.doubt))
        return Denoised(made[:, None], context.proprio[:, None], log_error, memory[:, None])

    def draw(
        self, z: Tensor, noise_level: Tensor, context: Context, added: Added | None = None
    ) -> tuple[Tensor, Tensor]:
        """``z`` ``(B, C, U, V)`` at ``noise_level`` ``(B,)`` to clean latents and log error ``(B, 1)``."""
        anchor, numbers = context.anchor, torch.cat([context.proprio, context.state], dim=-1)
        places = fourier(numbers, self.config.step.octaves)
        level = self.noise_level(noise_level)
        condition = self.draw_condition(torch.cat([places, level, context.condition], dim=-1))
        points = self.draw_points(context.proprio, context.state)
        pictures = torch.cat([z, anchor.latents, points], dim=1)
        out, log_error = self.drawer(pictures, condition, anchor.features, anchor.deep, added)
        if self.config.prediction == "v":
            return z - noise_level[:, None, None, None] * out, log_error
        if not self.gates:
            return self.stays * anchor.latents + out, log_error
        out, gates = out.split([z.shape[1], self.gates], dim=1)
        kept = gates.sigmoid().repeat_interleave(z.shape[1] // self.gates, dim=1)  # (B, C, U, V)
        return self.stays * kept * anchor.latents + out, log_error

    def loss(self, clip: Clip, generator: torch.Generator) -> tuple[Tensor, dict[str, Tensor]]:
        """Reading the anchors and drawing the targets of random pairs of frames of each window."""
        lesson = self._lesson(clip, self.draw_places(clip, generator), generator)
        target = lesson.target
        levels = draw_levels((len(target), 1), self.config.noise, generator, target.device)
        noisy = add_noise(target, draw_noise(target, generator), levels)
        made, log_error = self.draw(noisy[:, 0], levels[:, 0], lesson.context)
        loss, logs = self.also(lesson, Denoised(made[:, None], lesson.proprio, log_error))
        squared = channel_error(made, target[:, 0], self.config.channel_weights).mean()
        return 10 * squared + loss, {"latent": squared.detach(), **logs}

    def draw_places(self, clip: Clip, generator: torch.Generator) -> Places:
        """``pairs`` of each window, whose anchors some of them share."""
        batch, length = clip.proprio.shape[:2]
        count, device = self.config.step.history, clip.proprio.device
        few, shape = (batch * self._anchors,), (batch * self.config.pairs,)
        anchors = torch.randint(count - 1, length, few, generator=generator, device=generator.device).to(device)
        targets = torch.randint(count, length, shape, generator=generator, device=generator.device).to(device)
        rows = torch.arange(batch, device=device).repeat_interleave(self.config.pairs)
        return Places(rows, anchors.repeat_interleave(self.config.pairs // self._anchors), targets)

    def _lesson(
        self, side: Clip, places: Places, generator: torch.Generator | None = None, misread: Tensor | None = None
    ) -> Lesson:
        """See `Backbone.lesson`: to draw each target from its anchor, told the true state, or nearly."""
        row, anchors, targets = places.rows, places.anchors, places.targets
        assert anchors is not None and targets is not None  # noqa: PT018 (a pair)
        state = self._true_state(side)
        every = len(row) == len(state) * self.config.pairs  # or some of them, whose anchors may be of one each
        shared = self.config.pairs // self._anchors if every else 1
        once, of_once = row[::shared], anchors[::shared]
        anchor = self.look(side.latents[once, of_once], side.proprio[once, of_once])
        anchor = Anchor(*(getattr(anchor, f.name).repeat_interleave(shared, dim=0) for f in fields(Anchor)))
        seen, shown = anchor, state[row, targets]
        if generator is not None:
            shown = shown + self.config.state_noise * draw_noise(shown, generator)
            seen = forget(anchor, self.config.forget, generator)
        if misread is not None and generator is not None:
            shown = self.foreseer.keep_rigid(shown, shown + misread[:, None] * draw_noise(shown, generator))
        history, action = self._before(side, row, targets)
        context = Context(seen, self.step(history, action), side.proprio[row, targets], shown, anchor.doubt)
        numbers = torch.cat([side.proprio, state], dim=-1)
        apart = (numbers[row, anchors] - numbers[row, targets]).square().mean(dim=-1)
        new = targets[:, None]
        return Lesson(
            context,
            side.latents[row[:, None], new - 1],
            side.latents[row[:, None], new],
            side.proprio[row[:, None], new],
            Aside(anchor, state[row, anchors], apart),
        )

    def also(self, lesson: Lesson, made: Denoised) -> tuple[Tensor, dict[str, Tensor]]:
        """See `Backbone.also`: reading, and the expected errors of drawing and of the anchor itself."""
        aside: Aside = lesson.aside
        weights, target = self.config.channel_weights, lesson.target[:, 0]
        read = step_error(aside.anchor.state, aside.state)
        squared = channel_error(made.latents[:, 0], target, weights)  # (R,)
        error = (made.log_error[:, 0].float() - squared.detach().clamp_min(1e-8).log()).square().mean()
        apart = channel_error(aside.anchor.latents, target, weights)
        offset = self.doubt.latent_error(aside.apart)
        error = error + (offset.clamp_min(1e-8).log() - apart.clamp_min(1e-8).log()).square().mean()
        logs = {"log_error": error.detach(), "read": read.detach()}
        return self.config.read_weight * read + 0.01 * error, logs

    def foresee(
        self, history: History, actions: Tensor, state: Tensor, doubt: Tensor, limited: bool = False
    ) -> list[Step]:
        """What comes of ``actions`` ``(B, n, a, A)`` after ``history`` and ``state``, frame by frame.

        ``limited`` keeps gradients from exploding, see `limit_gradient`.
        """
        steps: list[Step] = []
        proprio, between, valid = history.proprio, history.actions, history.valid
        for k in range(actions.shape[1]):
            action = actions[:, k : k + 1]
            condition = self.step(History(history.latents, proprio, between, valid), action)
            following, state, hidden = self.foreseer(condition, proprio[:, -1], state)
            following, state = following.clamp(-_FAR, _FAR), state.clamp(-_FAR, _FAR)
            doubt = self.doubt(hidden, doubt)
            if limited and state.requires_grad:
                following, state = (limit_gradient(x, actions.shape[1]) for x in (following, state))
            steps.append(Step(condition, following, state, doubt))
            proprio = torch.cat([proprio[:, 1:], following[:, None]], dim=1)
            between = torch.cat([between, action], dim=1)[:, 1:]
            valid = torch.cat([valid, torch.ones_like(valid[:, :1])], dim=1)[:, 1:]
        return steps

    def foresee_clip(self, clip: Clip, now: Tensor, pushed: Tensor | float = 0.0) -> list[Step]:
        """All frames after the first ones of each window, from the state ``now`` ``(B, S)`` of the last of these.

        ``pushed`` is added to the actions.
        """
        count = self.config.step.history
        doubt = now.new_full((len(now), 1), 2 * math.log(self.config.state_noise))
        actions = (clip.actions[:, count - 1 :] + pushed).clamp(-1, 1)
        return self.foresee(clip.history(0, count), actions, now, doubt, limited=True)

    def sequence_loss(self, clip: Clip, generator: torch.Generator) -> tuple[Tensor, dict[str, Tensor]]:
        """Long unrolled forecasts from a true (slightly noised) state; ``clip.latents`` is not looked at."""
        state, count, errors, doubts = self._true_state(clip), self.config.step.history, [], []
        now = state[:, count - 1]
        now = now + self.config.state_noise * draw_noise(now, generator)
        for k, step in enumerate(self.foresee_clip(clip, now), start=count):
            off = torch.cat([step.proprio - clip.proprio[:, k], step.state - state[:, k]], dim=-1)
            doubts.append(doubt_loss(step.doubt[:, 0], off.square().mean(dim=-1)))
            errors.append(step_error(step.proprio, clip.proprio[:, k]) + step_error(step.state, state[:, k]))
        first, last, unsure = errors[0].detach(), errors[-1].detach(), torch.stack(doubts).mean()
        logs = {"sequence_first": first, "sequence_last": last, "doubt": unsure.detach()}
        return torch.stack(errors).mean() + 0.05 * unsure, logs

    def _true_state(self, clip: Clip) -> Tensor:
        if clip.state is None:
            raise InputError("this form learns key points of the teacher's state; record it with the data set")
        return clip.state

    def _before(self, clip: Clip, row: Tensor, targets: Tensor) -> tuple[History, Tensor]:
        """Proprio and actions of the frames before each target, and the action that leads to it."""
        before = targets[:, None] + torch.arange(-self.config.step.history, 0, device=targets.device)  # (R, h)
        row = row[:, None]
        proprio, valid, actions = clip.proprio[row, before], clip.valid[row, before], clip.actions[row, before]
        return History(clip.latents[:, :0], proprio, actions[:, :-1], valid), actions[:, -1:]

    def _recall(self, history: History) -> Anchor:
        """The anchor that the memory holds; rows without one look at their last frame."""
        if history.memory is None:
            return self.look(history.latents[:, -1], history.proprio[:, -1])
        blank = history.memory[:, 0].isnan()
        memory = history.memory
        if blank.any():
            memory = memory.clone()
            memory[blank] = self._remember(self.look(history.latents[blank, -1], history.proprio[blank, -1]))
        sizes = [self.config.forecast.state_dim, 1, *(math.prod(s) for s in self.shapes)]
        state, doubt, *flat = torch.split(memory, sizes, dim=1)
        latents, features, deep = (f.reshape(-1, *s) for f, s in zip(flat, self.shapes, strict=True))
        return Anchor(latents, features, deep, state, doubt)

    def _remember(self, anchor: Anchor) -> Tensor:
        """``(B, memory_dim)``; inverse of `_recall`."""
        parts = (anchor.state, anchor.doubt, anchor.latents, anchor.features, anchor.deep)
        return torch.cat([p.float().flatten(1) for p in parts], dim=1)


_OPEN = 4.0  # a gate's first value: nearly all of the anchor stays
_FAR = 2.0  # twice the picture: an unrolled forecast is kept from running away
