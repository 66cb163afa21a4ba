"""The MuJoCo model of Push-T: what collides (group 0) and what is to be seen (group 1)."""

from __future__ import annotations

import math

from teachers.pusht.contract import ARENA
from teachers.pusht.physics import TIME_STEP, Pose
from teachers.pusht.scoring import CENTRE

METRE = 1000.0  # px
HALF_HEIGHT = 0.015  # m, of block and pusher
RADIUS = 0.015  # m, of the pusher
WALLS = (0.007, 0.504)  # m: the inner faces of gym-pusht's walls on all four sides
CAMERA_HEIGHT = 1.1  # m above the block's top, where the picture spans the arena
PUSHER_MASS = 1e7  # kg beside the block's 1: as good as infinite

# The T's two boxes about its centre of gravity: centre and half sides in m.
BAR = (0.0, (15.0 - CENTRE[1]) / METRE, 0.060, 0.015)
STEM = (0.0, (75.0 - CENTRE[1]) / METRE, 0.015, 0.045)


def scene(goal: Pose, gyration: float, friction: float, correction: float) -> str:
    """MJCF of a table; y is minus the picture's y, and parameters are those of `TablePhysics`."""
    middle = ARENA / 2 / METRE
    inertia = (gyration / METRE) ** 2
    # "Direct" contact parameters: stop the approach within a substep, and undo that share of the overlap in it.
    stiffness, damping = correction / TIME_STEP**2, 1.0 / TIME_STEP
    contact = (
        f'solref="{-stiffness:.9g} {-damping:.9g}" solimp="0.9999 0.9999 0.001" '
        f'condim="{3 if friction else 1}" friction="{friction or 1:.9g} 0.005 0.0001"'
    )
    goal_x, goal_y = goal.x - math.sin(goal.angle) * CENTRE[1], goal.y + math.cos(goal.angle) * CENTRE[1]
    fov = 2 * math.degrees(math.atan(middle / CAMERA_HEIGHT))  # always in degrees
    return f"""
<mujoco model="push-t">
  <compiler angle="radian"/>
  <option timestep="{TIME_STEP}" gravity="0 0 0" cone="elliptic"><flag warmstart="disable"/></option>
  <visual>
    <headlight ambient="0.32 0.32 0.32" diffuse="0.15 0.15 0.15" specular="0 0 0"/>
    <quality shadowsize="1024"/>
    <map znear="0.1" zfar="10"/>
  </visual>
  <default>
    <geom mass="0"/>
    <default class="solid"><geom group="0" {contact}/></default>
    <default class="seen"><geom group="1" contype="0" conaffinity="0"/></default>
  </default>
  <asset>
    <texture name="table" type="2d" builtin="flat" rgb1="0.36 0.30 0.26" mark="random" markrgb="0.42 0.35 0.30"
      random="0.2" width="256" height="256"/>
    <material name="table" texture="table" specular="0.1" reflectance="0"/>
    <material name="goal" rgba="0.20 0.42 0.46 1" specular="0"/>
    <material name="block" rgba="0.90 0.62 0.16 1" specular="0.3" shininess="0.3"/>
    <material name="pusher" rgba="0.80 0.20 0.22 1" specular="0.4" shininess="0.5"/>
    <material name="wall" rgba="0.16 0.15 0.16 1" specular="0"/>
  </asset>
  <worldbody>
    <light pos="0.05 -0.05 1.2" dir="0.18 -0.18 -1" directional="true" diffuse="0.62 0.60 0.56" castshadow="true"/>
    <camera name="top" pos="{middle} {-middle} {CAMERA_HEIGHT + 2 * HALF_HEIGHT}" fovy="{fov}"/>
    <geom class="seen" type="box" material="table" pos="{middle} {-middle} -0.01" size="0.3 0.3 0.01"/>
    <body pos="{goal_x / METRE} {-goal_y / METRE} 0.0003" euler="0 0 {-goal.angle}">
      {_tee("seen", "goal", 0.0, 0.0003)}
    </body>
    {_walls()}
    <body name="pusher">
      <joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
      <inertial pos="0 0 0" mass="{PUSHER_MASS:.9g}" diaginertia="1 1 1"/>
      <geom class="solid" type="sphere" pos="0 0 {HALF_HEIGHT}" size="{RADIUS}" contype="1" conaffinity="0"/>
      <geom class="seen" type="cylinder" material="pusher" pos="0 0 {HALF_HEIGHT}" size="{RADIUS} {HALF_HEIGHT}"/>
    </body>
    <body name="block">
      <joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/><joint type="hinge" axis="0 0 1"/>
      <inertial pos="0 0 0" mass="1" diaginertia="{inertia:.9g} {inertia:.9g} {inertia:.9g}"/>
      {_tee("solid", None, HALF_HEIGHT, HALF_HEIGHT)}
      {_tee("seen", "block", HALF_HEIGHT, HALF_HEIGHT)}
    </body>
  </worldbody>
</mujoco>"""


def _tee(kind: str, material: str | None, height: float, half: float) -> str:
    rest = f'material="{material}"' if material else 'contype="0" conaffinity="3"'
    return "".join(
        f'<geom class="{kind}" type="box" pos="{x} {-y} {height}" size="{sx} {sy} {half}" {rest}/>'
        for x, y, sx, sy in (BAR, STEM)
    )


def _walls() -> str:
    """Four planes that the block cannot pass, and what is seen of them."""
    low, high = WALLS
    planes = ((low, 0, "0 1.5708 0"), (high, 0, "0 -1.5708 0"), (0, -low, "1.5708 0 0"), (0, -high, "-1.5708 0 0"))
    solid = "".join(
        f'<geom class="solid" type="plane" pos="{x} {y} 0" euler="{turn}" size="1 1 1" contype="2" conaffinity="0"/>'
        for x, y, turn in planes
    )
    middle, half, thick = (low + high) / 2, (high - low) / 2 + 0.004, 0.002
    bars = (
        (low - thick, -middle, 0),
        (high + thick, -middle, 0),
        (middle, -low + thick, 1),
        (middle, -high - thick, 1),
    )
    return solid + "".join(
        f'<geom class="seen" type="box" material="wall" pos="{x} {y} 0.004" '
        f'size="{half if lying else thick} {thick if lying else half} 0.004"/>'
        for x, y, lying in bars
    )
