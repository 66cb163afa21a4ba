"""LIBERO's tests are skipped where its extra is not installed, and its pictures where nothing can draw."""

import pytest

from world_model.extras import absent

MISSING = absent("libero")


def pytest_collection_modifyitems(items):
    skip = pytest.mark.skip(reason=f"{MISSING[0] if MISSING else ''} is not installed: pip install '.[libero]'")
    for item in items:
        if MISSING and item.path.parent.name == "libero" and "without_extra" not in item.keywords:
            item.add_marker(skip)
