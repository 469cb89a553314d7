"""The rows of a table in the order in which a pane shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from npulse.core.errors import UsageError
from npulse.core.progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled

if TYPE_CHECKING:
    from npulse.core.table import Order, Table

    from .base import ViewState


class Steering(TypedDict):
    progress: ProgressCallback
    is_cancelled: IsCancelled


def order_rows(
    table: Table,
    view: ViewState,
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> tuple[Order | None, str]:
    """Rows of a view in display order (None: all, as they are), and why a filter could not be used.

    Raises Cancelled.
    """
    from npulse.core.query import matching_rows
    from npulse.core.table import sort_order

    order, trouble = None, ""
    steering: Steering = {"progress": progress, "is_cancelled": is_cancelled}
    try:
        order = matching_rows(table, view.filter, **steering) if view.filter.strip() else None
    except UsageError as error:
        trouble = error.message
    if view.sort:
        order = sort_order(table, view.sort, descending=view.descending, within=order, **steering)
    return order, trouble
