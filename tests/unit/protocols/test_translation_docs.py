from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_page_is_in_step_with_the_tables() -> None:
    page = runpy.run_path(str(ROOT / "scripts" / "translation_docs.py"))["page"]()
    assert (ROOT / "docs" / "translation.md").read_text("utf-8") == page, (
        "run: python scripts/translation_docs.py > docs/translation.md"
    )
