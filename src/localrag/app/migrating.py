"""A library moved from one index to another."""

from __future__ import annotations

from collections.abc import Callable

from localrag.app import wiring
from localrag.errors import NotFoundError, SettingsError, without_password
from localrag.library.migration import Migration, MigrationProgress, migrate
from localrag.settings import Settings


def migrate_library(
    source_url: str,
    target_url: str,
    settings: Settings,
    *,
    on_progress: Callable[[MigrationProgress], None] = lambda _: None,
) -> Migration:
    """Copies the library and compares both; the target is made for the model that the source was built with.

    Args:
        source_url, target_url: as in LOCALRAG_INDEX_URL; name, user and password are those of the settings for both.

    Raises:
        NotFoundError: there is no library at the source.
        SettingsError: both are the same, or the target holds other documents.
        IndexMismatchError: the target was built with other parameters.
    """
    if source_url == target_url:
        raise SettingsError(f"--from and --to are both {without_password(source_url)}.", hint="Name two places.")
    header = wiring.stored_header(source_url, settings)
    if header is None:
        raise NotFoundError(f"There is no library at {without_password(source_url)}.", hint="Check --from.")
    source = wiring.open_index(source_url, settings, header)
    try:
        target = wiring.open_index(target_url, settings, header)
        try:
            return migrate(source, target, on_progress=on_progress)
        finally:
            target.close()
    finally:
        source.close()
