"""Options that say which papers may be ranked, and the filters they stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hippo_lit.types import Filters

Year = Annotated[
    str | None,
    typer.Option(
        "--year", metavar="RANGE", help="Only papers of these years: 2018-2024, 2020, 2018- or -2020."
    ),
]
Author = Annotated[
    list[str] | None,
    typer.Option(
        "--author", metavar="NAME", help="Only papers by this author, family or full name; repeated: any."
    ),
]
Venue = Annotated[
    list[str] | None,
    typer.Option("--venue", metavar="NAME", help="Only papers of this journal or conference; repeated: any."),
]
Source = Annotated[
    list[str] | None,
    typer.Option(
        "--source", metavar="NAME", help="Only papers from this source: bibtex, refs.bib, …; repeated: any."
    ),
]
OpenAccess = Annotated[bool, typer.Option("--open-access", help="Only papers known to be open access.")]
HasAbstract = Annotated[bool, typer.Option("--has-abstract", help="Only papers with an abstract.")]
NoRetracted = Annotated[bool, typer.Option("--no-retracted", help="No papers known to be retracted.")]
Only = Annotated[
    list[str] | None, typer.Option("--only", metavar="ID", help="Rank this paper; repeated: and no others.")
]
Exclude = Annotated[
    list[str] | None, typer.Option("--exclude", metavar="ID", help="Leave this paper out; may be repeated.")
]


def filters_from(
    year: str | None,
    author: list[str] | None,
    venue: list[str] | None,
    source: list[str] | None,
    open_access: bool,
    has_abstract: bool,
    no_retracted: bool,
    only: list[str] | None,
    exclude: list[str] | None,
) -> Filters:
    """The filters that the options ask for. Raises ConfigError."""
    from hippo_lit.restriction import parse_filters

    return parse_filters(
        {
            "years": year,
            "authors": author,
            "venues": venue,
            "sources": source,
            "open_access": open_access or None,
            "has_abstract": has_abstract or None,
            "retracted": False if no_retracted else None,
            "only": only,
            "exclude": exclude,
        }
    )
