"""A package of the name mistral-common for the path: transformers only asks whether one is installed, and which version."""

from pathlib import Path


def mistral_common(site: Path) -> Path:
    """A folder for PYTHONPATH that holds the package and its metadata; importing more of it fails."""
    (site / "mistral_common").mkdir(parents=True)
    (site / "mistral_common/__init__.py").write_text("")
    (site / "mistral_common-1.13.1.dist-info").mkdir()
    (site / "mistral_common-1.13.1.dist-info/METADATA").write_text(
        "Metadata-Version: 2.1\nName: mistral_common\nVersion: 1.13.1\n"
    )
    return site
