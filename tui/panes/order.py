"""The rows of a table in the order in which a pane shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npulse.core.errors import UsageError

if TYPE_CHECKING:
    from npulse.core.table import Order, Table

    from .base import ViewState


def order_rows(table: Table, view: ViewState) -> tuple[Order | None, str]:
    """Rows of a view in display order (None: all, as they are), and why a filter could not be used."""
    from npulse.core.query import matching_rows
    from npulse.core.table import sort_order

    order, trouble = None, ""
    try:
        order = matching_rows(table, view.filter) if view.filter.strip() else None
    except UsageError as error:
        trouble = error.message
    if view.sort:
        order = sort_order(table, view.sort, descending=view.descending, within=order)
    return order, trouble
