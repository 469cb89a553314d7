"""Where the elements of a leaf, or of a tensor made of leaves, lie."""

from __future__ import annotations

from npulse.core.calls.tensors import TensorPlace, open_place
from npulse.core.calls.tensors import place_of as place_of_leaf
from npulse.core.formats.tensors import TensorError, TensorFile

from .model import Part, PartsPlace, Side
from .view import TensorView


def place_of(part: Part) -> TensorPlace:
    """The file of a leaf; one that has none gives a place without a name."""
    found = place_of_leaf(part.dump, part.leaf, part.root)
    return TensorPlace(part.dump.tensor_dir, "", part.root, None, None) if found is None else found


def side_place(side: Side) -> PartsPlace:
    """Where the parts of a row's side lie: only those that are read."""
    used = sorted({part for part, _, _ in side.cut.segments if part >= 0}) or list(range(len(side.parts)))
    if side.cut.is_sum:
        used = list(range(len(side.parts)))
    new = {part: place for place, part in enumerate(used)}
    segments = tuple((new.get(part, part), first, n) for part, first, n in side.cut.segments)
    places = tuple(place_of(side.parts[part]) for part in used)
    return PartsPlace(places, side.cut._replace(segments=segments))


def open_parts(place: PartsPlace) -> TensorView:
    """The tensor that the parts make, nothing of its elements read; raises TensorError."""
    files: list[TensorFile] = [open_place(part) for part in place.parts]
    view = TensorView(tuple(files), place.cut)
    if not view.fits():
        raise TensorError("shape", "the files are not of the size that their records say", path=place.path)
    return view


def places_of(place: TensorPlace | PartsPlace) -> tuple[TensorPlace, ...]:
    """The files behind a side of a job."""
    return place.parts if isinstance(place, PartsPlace) else (place,)
