"""The performance of one round: every profile analysed, ranks side by side, kernels, the round before."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from npulse.core.dataclass import dataclass
from npulse.core.errors import InputError
from npulse.core.findings import Problem
from npulse.core.formats.manifest import RoundRecord
from npulse.core.formats.opprof.kernels import read_kernels
from npulse.core.formats.opprof.records import KernelProfile
from npulse.core.formats.profiling.session import Session, read_session
from npulse.core.progress import (
    IsCancelled,
    Progress,
    ProgressCallback,
    check,
    ignore_progress,
    never_cancelled,
)
from npulse.core.run.model import Artifact, Run
from npulse.core.run.selection import ranks_hint
from npulse.core.tails import Tails
from npulse.core.text import safe_text

from .advice import words
from .cluster import Clusters, load_clusters
from .comparing import changes_since
from .copies import copies_of, export_of
from .criteria import Settings
from .following import Kept, The, kept_in
from .found import Analysed, OnUpdate, Performance, Stage
from .loading import load_tables, with_timelines
from .one_step import of_step, steps_in
from .operators.analysis import N_PARTS, operators_of
from .operators.usable import usable
from .order import ordered
from .profile import Profile
from .ranks.advice import Ranks, ranks_of
from .raw_growth import growth_of
from .since import Since
from .sources import CLUSTERS, KERNELS, RAW, ProfileFiles, profiles_in
from .texts import TEXTS
from .wall.analysis import analyse_wall
from .wall.bottleneck import Answer

_LARGE_ROWS = 100_000
"""A smaller operator table is analysed before anybody could read how far that is."""
MadeT = TypeVar("MadeT")
Earlier = Sequence[tuple[str, tuple[Artifact, ...]]]


@dataclass(slots=True)
class _Work:
    """What is put together step by step, of one round."""

    root: Path
    round: str
    settings: Settings
    progress: ProgressCallback
    is_cancelled: IsCancelled
    tails: Tails | None = None
    problems: list[Problem] = field(default_factory=list)
    _done: dict[int, tuple[Profile, Analysed]] = field(default_factory=dict)

    @property
    def kept(self) -> Kept | None:
        """What is found again at the next look of a followed run."""
        return None if self.tails is None else kept_in(self.tails)

    def again(self, key: Any, of: Sequence[Any], make: Callable[[], MadeT]) -> MadeT:
        """What is made of these; of the same ones what the last look made."""
        if self.kept is None:
            return make()
        made: MadeT = self.kept.again((self.round, key), of, make)
        return made

    def analysed(self, profile: Profile, record: RoundRecord | None) -> Analysed:
        """What is said of a profile; made once, however often there is an update, or a look at it."""

        def make() -> Analysed:
            return analysed(
                profile, self.settings, record, progress=self.progress, is_cancelled=self.is_cancelled
            )

        done = self._done.get(id(profile))
        if done is None or done[0] is not profile:
            one = self.again(("analysed", profile.name), (profile, self.settings, record), make)
            done = self._done[id(profile)] = (profile, one)
        return done[1]


def _told_apart(
    loaded: Sequence[tuple[ProfileFiles, tuple[Profile, ...]]],
) -> list[tuple[ProfileFiles, tuple[Profile, ...]]]:
    """Profiles that would be called alike are called by their folders."""
    labels = Counter(profile.label for _, made in loaded for profile in made)
    if all(n == 1 for n in labels.values()):
        return list(loaded)
    return [
        (
            one,
            tuple(
                replace(profile, is_told_by_folder=True) if labels[profile.label] > 1 else profile
                for profile in made
            ),
        )
        for one, made in loaded
    ]


def analyse(
    run: Run,
    round_name: str,
    artifacts: Sequence[Artifact],
    settings: Settings,
    *,
    earlier: Earlier = (),
    record: RoundRecord | None = None,
    tails: Tails | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
    on_update: OnUpdate | None = None,
    clock: Callable[[], float] = time.monotonic,
    room: Path | None = None,
) -> Performance:
    """Analyse a round. on_update: called with what is known so far: of a large table its first
    rows and its sums by type, then tables, timelines later. tails: of a followed run: what did not change
    since the last look is neither read nor analysed again, and updates are those of the first look. room: a
    folder for copies of its raw sessions that msprof may export, None for none.

    earlier: the rounds before, oldest first. record: of its manifest. Raises InputError where nothing of it
    can be read or nothing is of the step that is asked for, Cancelled.
    """
    root = run.path if run.path.is_dir() else run.path.parent
    work = _Work(root, round_name, settings, progress, is_cancelled, tails)
    if work.kept is not None:
        on_update = on_update if not work.kept.n_looks else None
        work.kept.n_looks += 1
    found = Performance(root, round_name, settings, tuple(artifacts))
    files = [
        one for one in profiles_in(artifacts) if settings.rank is None or one.rank in (None, settings.rank)
    ]
    loaded: list[tuple[ProfileFiles, tuple[Profile, ...]]] = []
    for one in files:
        check(is_cancelled)
        if not one.is_measured:
            continue
        if on_update is not None and not loaded:
            from .early import look_early

            look_early(one, found, on_update, progress=progress, is_cancelled=is_cancelled)
        profiles = load_tables(
            one, root, work.problems, tails=tails, progress=progress, is_cancelled=is_cancelled
        )
        loaded.append((one, profiles))
        if on_update is not None:
            on_update(_together(work, found, files, loaded, (), (), None, "tables", record))
    clusters = _clusters(work, artifacts)
    found = replace(found, tool_tables=clusters.told)
    loaded += _ranks_of_clusters(work, clusters.profiles, loaded)
    kernels = _kernels(work, artifacts)
    raw = _raw(work, files)
    for place, (one, profiles) in enumerate(loaded):
        check(is_cancelled)
        loaded[place] = (
            one,
            with_timelines(
                one,
                profiles,
                root,
                work.problems,
                tails=tails,
                progress=progress,
                is_cancelled=is_cancelled,
            ),
        )
    if settings.step is not None and (loaded or kernels):
        _check_step(run, settings.step, [profile for _, profiles in loaded for profile in profiles])
    before = _before(work, earlier)
    if work.kept is not None and tails is not None:
        loaded += _copies(work, files, raw, room)
        now_s = clock()
        growth = {
            session.folder: replace(
                growth_of(session, tails, root, now_s), export=export_of(session, work.kept)
            )
            for session in raw
        }
        found = replace(found, growth=growth)
    done = _together(work, found, files, loaded, kernels, raw, before, "complete", record)
    done = replace(done, since=_since(work, done))
    has_own = bool(done.profiles or done.kernels or done.raw)
    if settings.rank is not None and not has_own:
        _check_rank(run, settings.rank, clusters.profiles)
    if not has_own and not done.tool_tables:
        raise InputError(
            "nothing of the profiles here can be read",
            path=run.path,
            hint=_placed(work.problems[0]) if work.problems else "name the folder of a profile",
        )
    return done


def _copies(
    work: _Work, files: Sequence[ProfileFiles], raw: Sequence[Session], room: Path | None
) -> Iterator[tuple[ProfileFiles, tuple[Profile, ...]]]:
    """What exported copies of raw sessions tell, each in the job of its session."""
    assert work.kept is not None
    found = copies_of(raw, work.kept, work.root, room, work.problems, is_cancelled=work.is_cancelled)
    for made in found.values():
        name = made[0].name
        job = next((one.job for one in files if f"{name}/".startswith(f"{one.name}/")), ".")
        yield ProfileFiles(name, job, made[0].rank, {}), made


def _since(work: _Work, done: Performance) -> Since | None:
    """What came to the profile that is shown; those beside it are kept for the look at which they are."""
    told = {
        one.profile.name: work.kept.since(one.profile.name, work.settings.step, one.operators.types.top)
        for one in done.profiles
        if work.kept is not None and one.operators is not None
    }
    return told.get(done.shown.profile.name) if done.shown is not None else None


def _check_step(run: Run, step: int, profiles: Sequence[Profile]) -> None:
    """InputError where no profile has anything of the step: an empty report would look like an idle one."""
    known = steps_in(profiles)
    if step not in known:
        shown = ", ".join(map(str, known[:16])) + (" ..." if len(known) > 16 else "")
        hint = f"steps: {shown}" if known else "no table here says which step a row is of"
        hint = hint if profiles else "kernels of msOpProf have no steps"
        raise InputError(f"nothing of step {step} here", path=run.path, hint=hint)


def _check_rank(run: Run, rank: int, clusters: Mapping[str, tuple[Profile, ...]]) -> None:
    """InputError where tables of several ranks lack the one that is asked for."""
    in_tables = [one.rank for made in clusters.values() for one in made]
    if in_tables and rank not in in_tables:
        known = ranks_hint((*in_tables, *(artifact.rank for artifact in run.artifacts)))
        raise InputError(f"no profile of rank {rank} here", path=run.path, hint=known)


def _placed(problem: Problem) -> str:
    """A problem in one line, with the file and the place in it."""
    place = problem.artifact
    if problem.line is not None:
        place += f":{problem.line}"
    elif problem.byte is not None:
        place += f" @ byte {problem.byte}"
    return f"{place}: {problem.message}"


def analysed(
    profile: Profile,
    settings: Settings,
    record: RoundRecord | None = None,
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Analysed:
    """One profile with all that is said of it alone. progress: of a large one, part by part.

    Raises Cancelled.
    """
    if settings.step is not None:
        profile = of_step(profile, settings.step)
    is_large = profile.operators is not None and profile.operators.n_rows >= _LARGE_ROWS
    n_done = 0

    def between() -> None:
        nonlocal n_done
        check(is_cancelled)
        if is_large:
            progress(Progress("analyse", n_done, N_PARTS + 1, "parts"))
        n_done += 1

    between()
    used = usable(profile.operators) if profile.operators is not None else None
    wall = analyse_wall(profile, used.rows if used is not None else None, settings.criteria, record)
    wall_ns = wall.wall.wall_ns if wall.wall is not None else None
    return Analysed(profile, operators_of(profile, used, wall_ns, settings.criteria, between), wall)


def _together(
    work: _Work,
    found: Performance,
    files: Sequence[ProfileFiles],
    loaded: Sequence[tuple[ProfileFiles, tuple[Profile, ...]]],
    kernels: tuple[KernelProfile, ...],
    raw: tuple[Session, ...],
    before: Performance | None,
    stage: Stage,
    record: RoundRecord | None,
) -> Performance:
    loaded = _told_apart(loaded)
    profiles = tuple(work.analysed(profile, record) for _, made in loaded for profile in made)
    ranks = _ranks(work, files, loaded, profiles)
    profiles = tuple(_by_its_ranks(one, ranks) for one in profiles)
    main = _main(work.settings, profiles, ranks)
    changes = (
        work.again(
            "changes",
            (profiles[main].profile, work.settings, The(before)),
            partial(changes_since, work.settings, profiles[main], before, found.round),
        )
        if before is not None and profiles
        else None
    )
    done = replace(
        found,
        stage=stage,
        profiles=profiles,
        main=main,
        kernels=kernels,
        ranks=ranks,
        raw=raw,
        changes=changes,
        followed=work.kept.followed_of(one.name for one in files) if work.kept is not None else None,
        problems=tuple(
            dict.fromkeys((*work.problems, *(p for one in profiles for p in one.profile.problems)))
        ),
    )
    return replace(done, advice=ordered(done))


def _ranks(
    work: _Work,
    files: Sequence[ProfileFiles],
    loaded: Sequence[tuple[ProfileFiles, tuple[Profile, ...]]],
    profiles: Sequence[Analysed],
) -> tuple[Ranks, ...]:
    """Jobs with at least two ranks. Folders that were never exported count: a rank is missing there."""
    walls = {one.profile.name: one.wall.wall for one in profiles if one.wall.wall is not None}
    jobs: dict[str, list[Profile]] = {}
    each = iter(profiles)  # of the step that is asked for, where one is
    for one, made in loaded:
        own = [next(each).profile for _ in made]
        jobs.setdefault(one.job, []).extend(profile for profile in own if profile.rank is not None)
    never: dict[str, list[tuple[str, str, int | None]]] = {}
    for one in files:
        if not one.is_measured and one.rank is not None and any(kind in RAW for kind in one.by_kind):
            never.setdefault(one.job, []).append((f"rank {one.rank}", one.name, one.rank))
    found = []
    for job, members in jobs.items():
        if len({profile.rank for profile in members}) + len(never.get(job, ())) < 2:
            continue
        criteria, missing = work.settings.criteria, never.get(job, [])
        of = (*members, tuple(missing), criteria)
        found.append(
            work.again(("ranks", job), of, partial(ranks_of, job, members, walls, criteria, missing))
        )
    return tuple(found)


def _by_its_ranks(one: Analysed, ranks: Sequence[Ranks]) -> Analysed:
    """The answer for a rank that holds others up is its own work, for one that waits the wait: whatever its
    shares of the wall time are."""
    name, label = one.profile.name, one.profile.label
    for straggler in (found for job in ranks for found in job.stragglers):
        slow = straggler.slow.profile
        percent = f"{straggler.excess_percent:.2f}"
        if slow.name == name:
            answer: Answer = "compute" if straggler.cause == "computing" else "idle"
            why = words(TEXTS, f"why-slow-{straggler.cause}", percent=percent, n=len(straggler.waiting))
        elif any(waiting.profile.name == name for waiting in straggler.waiting):
            answer = "communication"
            why = words(TEXTS, "why-waits", slow=safe_text(slow.label, 80), label=safe_text(label, 80))
        else:
            continue
        return replace(
            one, wall=replace(one.wall, bottleneck=replace(one.wall.bottleneck, answer=answer, why=why))
        )
    return one


def _main(settings: Settings, profiles: Sequence[Analysed], ranks: Sequence[Ranks]) -> int:
    """The slow rank where one is; else the first profile that has rows, else times, else the first."""
    slow = [one.slow.profile.name for job in ranks for one in job.stragglers]
    for place, one in enumerate(profiles):
        if one.profile.name in slow[:1] and settings.rank is None:
            return place
    has_rows = [one.operators is not None and one.operators.usable is not None for one in profiles]
    has_sums = [one.operators is not None for one in profiles]
    has_times = [one.wall.wall is not None for one in profiles]
    for has in (has_rows, has_sums, has_times):
        if any(has):
            return has.index(True)
    return 0


def _ranks_of_clusters(
    work: _Work,
    found: Mapping[str, tuple[Profile, ...]],
    loaded: Sequence[tuple[ProfileFiles, tuple[Profile, ...]]],
) -> list[tuple[ProfileFiles, tuple[Profile, ...]]]:
    """Ranks that only the vendor's cluster analysis tells of; those with a profile of their own are known."""
    known = {(one.job, profile.rank) for one, made in loaded for profile in made}
    return [
        (ProfileFiles(profile.name, job, profile.rank, {}), (profile,))
        for job, profiles in found.items()
        for profile in profiles
        if (job, profile.rank) not in known and work.settings.rank in (None, profile.rank)
    ]


def _kernels(work: _Work, artifacts: Sequence[Artifact]) -> tuple[KernelProfile, ...]:
    found: list[KernelProfile] = []
    for artifact in artifacts:
        if artifact.kind not in KERNELS:
            continue
        try:
            made = work.again(("kernels", artifact.path), (artifact,), partial(_read_kernels, work, artifact))
        except InputError as error:
            work.problems.append(Problem.from_error(error, artifact.relative))
            continue
        found += made
        work.problems += (problem for kernel in made for problem in kernel.problems)
    return tuple(found)


def _read_kernels(work: _Work, artifact: Artifact) -> tuple[KernelProfile, ...]:
    return tuple(
        read_kernels(artifact.path, root=work.root, progress=work.progress, is_cancelled=work.is_cancelled)
    )


def _clusters(work: _Work, artifacts: Sequence[Artifact]) -> Clusters:
    """What the vendor's cluster analysis left; what of it cannot be read is told."""
    mine = tuple(one for one in artifacts if one.kind in CLUSTERS)

    def make() -> tuple[Clusters, list[Problem]]:
        problems: list[Problem] = []
        return load_clusters(mine, work.root, problems, is_cancelled=work.is_cancelled), problems

    found, problems = work.again("clusters", mine, make)
    work.problems += problems
    return found


def _raw(work: _Work, files: Sequence[ProfileFiles]) -> tuple[Session, ...]:
    """Sessions without any exported figures."""
    found = []
    for one in files:
        artifact = one.first("prof.framework", "prof.session")
        if one.is_measured or artifact is None:
            continue
        try:
            session = read_session(artifact.path, root=work.root)
        except InputError as error:
            work.problems.append(Problem.from_error(error, artifact.relative))
            continue
        found.append(session)
        work.problems += session.problems
    return tuple(found)


def _before(work: _Work, earlier: Earlier) -> Performance | None:
    """The last round before this one that has a profile with rows. What of it cannot be read is told: what
    is missing there would look new here."""
    found = work.again("before", (tuple(earlier), work.settings), partial(_read_before, work, earlier))
    if found is not None:
        work.problems += found.problems
    return found


def _read_before(work: _Work, earlier: Earlier) -> Performance | None:
    for name, artifacts in reversed(earlier):
        quiet = _Work(work.root, name, work.settings, work.progress, work.is_cancelled)
        files = [one for one in profiles_in(artifacts) if one.operators is not None or one.is_measured]
        loaded = [
            (one, load_tables(one, quiet.root, quiet.problems, is_cancelled=quiet.is_cancelled))
            for one in files
        ]
        empty = Performance(work.root, name, work.settings, artifacts)
        done = _together(quiet, empty, files, loaded, (), (), None, "complete", None)
        if any(one.operators is not None and one.operators.usable is not None for one in done.profiles):
            return done
    return None
