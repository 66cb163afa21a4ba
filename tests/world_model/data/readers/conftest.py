"""Small whole data sets of every layout, made once from the real files."""

import pytest

from world_model.data.readers.samples import make_sample


@pytest.fixture(scope="session")
def make(shared_data, tmp_path_factory):
    """Folder of a sample by its name; not to be written to."""
    made = {}

    def folder(name):
        if name not in made:
            made[name] = tmp_path_factory.mktemp("samples") / name
            made[name].mkdir()
            make_sample(name, shared_data, made[name])
        return made[name]

    return folder
