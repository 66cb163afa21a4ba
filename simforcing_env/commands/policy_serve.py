"""Serve a policy to a simulator in another process; the other end names it ``socket:HOST:PORT``.

The policy runs here with this process's packages. Only programs of this machine can connect unless --host says
otherwise; nobody is asked who they are, so open other hosts in networks that you trust.
"""

from __future__ import annotations

from dataclasses import dataclass

from simforcing_env.commands.checks import at_least


@dataclass(frozen=True)
class Config:
    """Options of ``simforcing policy serve``."""

    policy: str
    """Specification, such as pusht:tries=8 or python:my_module:make."""
    world: str = "pusht"
    """Name of the world that it acts in."""
    host: str = "127.0.0.1"
    """Address to listen on."""
    port: int = 0
    """Port; 0 takes a free one, which is printed."""
    callers: int = 0
    """Connections after which it ends; 0 for none."""


def run(config: Config) -> None:
    """Print the address, then answer."""
    from simforcing_env.policies.registry import make_policy
    from simforcing_env.policies.remote import serve
    from teachers.registry import make_teacher

    at_least(0, port=config.port, callers=config.callers)
    contract = make_teacher(config.world).contract
    policy = make_policy(config.policy, contract)

    def ready(address: str) -> None:
        print(f"policy {policy.name} ({policy.hash}) listens on {address}", flush=True)

    serve(policy, contract, config.host, config.port, ready=ready, callers=config.callers or None)
