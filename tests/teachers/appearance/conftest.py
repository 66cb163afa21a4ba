"""Pictures are tested where something can draw."""

import pytest


@pytest.fixture(scope="session")
def drawing():
    """What draws here; a test that asks for it is skipped where nothing does."""
    from teachers.libero.gl import NoRendererError, backend

    try:
        return backend()
    except NoRendererError as error:
        pytest.skip(str(error))
