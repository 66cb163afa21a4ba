"""What this machine has and how fast it computes: versions, cores, threads, bf16, extras, shipped weights."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from importlib import metadata

from simforcing_env.doctor.finding import Finding
from simforcing_env.doctor.rendering import check_rendering
from world_model.extras import EXTRAS, absent
from world_model.results import processor_name, usable_cores

PACKAGES = (
    "simforcing-env",
    "torch",
    "numpy",
    "gymnasium",
    "safetensors",
    "huggingface_hub",
    "av",
    "pyarrow",
)
QUIET = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
SPIN_MEND = "set OMP_NUM_THREADS=1 (or GOMP_SPINCOUNT=0 OMP_WAIT_POLICY=PASSIVE) before starting python"


def check_machine() -> list[Finding]:
    """All findings about the machine; takes a few seconds, most of them for importing torch."""
    return [
        *_system(),
        *_accelerator(),
        bf16_finding(*_matmul_rates()),
        threads_finding(*_thread_facts()),
        *check_rendering(),
        *_extras(),
    ]


def _system() -> list[Finding]:
    versions = ", ".join(f"{name} {_version(name)}" for name in PACKAGES)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30 if hasattr(os, "sysconf") else 0.0
    system = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {memory:.0f} GiB memory"
    missing = [name for name in PACKAGES if _version(name) == "missing"]
    mend = 'run: pip install -e . (or pip install "simforcing-env")' if missing else ""
    return [
        Finding("system", "ok", system),
        Finding("versions", "fault" if missing else "ok", versions, mend),
        Finding("processor", "ok", f"{processor_name()}, {usable_cores()} usable cores, load {_load():.1f}"),
    ]


def _accelerator() -> list[Finding]:
    import torch

    if not torch.cuda.is_available():
        return [Finding("accelerator", "note", "none; everything runs on the processor")]
    names = ", ".join(torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count()))
    return [Finding("accelerator", "ok", f"{names}; use --device cuda")]


def bf16_finding(fp32: float, bf16: float) -> Finding:
    """From the measured rates of a matrix product, GFLOP/s."""
    text = f"matrix product {fp32:.0f} GFLOP/s in float32, {bf16:.0f} in bfloat16 ({bf16 / fp32:.1f} times)"
    if bf16 >= 1.2 * fp32:
        return Finding("bf16", "ok", f"{text}: train and run in bfloat16")
    return Finding("bf16", "note", f"{text}: no gain", "stay with float32 on this processor (--precision float32)")


def threads_finding(threads: int, slowdown: float, load: float, cores: int, quiet: bool) -> Finding:
    """From torch's threads, a small product's time with them over that with one, the machine's load and settings."""
    text = f"torch uses {threads} of {cores} cores; small products take {slowdown:.2f} times as long as with 1 thread"
    if threads == 1:
        return Finding("threads", "ok", f"torch uses 1 of {cores} cores: right for small models beside other processes")
    if threads > cores:
        return Finding("threads", "warning", text, f"more threads than cores: set OMP_NUM_THREADS={cores} or less")
    if slowdown > 1.3:
        return Finding("threads", "warning", f"{text}: threads wait for busy cores", SPIN_MEND)
    if not quiet and load > 0.5 * cores:
        return Finding("threads", "warning", f"{text}; the load of {load:.1f} will make threads wait", SPIN_MEND)
    return Finding("threads", "ok", text)


def _matmul_rates(size: int = 768) -> tuple[float, float]:
    import torch

    generator = torch.Generator().manual_seed(0)
    a = torch.randn(size, size, generator=generator)
    rates = []
    for dtype in (torch.float32, torch.bfloat16):
        x = a.to(dtype)
        rates.append(2 * size**3 / _best(lambda x=x: x @ x, repeats=5) / 1e9)  # type: ignore[misc]
    return rates[0], rates[1]


def _thread_facts() -> tuple[int, float, float, int, bool]:
    import torch

    threads = torch.get_num_threads()
    x = torch.ones(192, 192)

    def products() -> None:
        for _ in range(50):
            x @ x

    many = _best(products, repeats=5)
    torch.set_num_threads(1)
    try:
        one = _best(products, repeats=5)
    finally:
        torch.set_num_threads(threads)
    return threads, many / one, _load(), usable_cores(), all(name in os.environ for name in QUIET)


def _best(function: Callable[[], object], repeats: int) -> float:
    """Shortest time of some calls in seconds, after one to warm up."""
    function()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def _extras() -> list[Finding]:
    findings = []
    for extra in EXTRAS:
        lacking = absent(extra)
        if lacking:
            text = f"not installed ({', '.join(lacking)})"
            findings.append(Finding(f"[{extra}]", "note", text, f'pip install "simforcing-env[{extra}]"'))
        else:
            findings.append(Finding(f"[{extra}]", "ok", "installed"))
    return findings


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "missing"


def _load() -> float:
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
