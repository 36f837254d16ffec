"""Entries for batches that failed as a whole, though each of their cases passes in isolation."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from conformance.campaign.updating.groups import free_id, general, lowered_to
from conformance.executors.lost import own_words
from conformance.gate.expectations import Expectation
from conformance.gate.strict import TODO
from conformance.verdict import LostBatch


def entries_of_batches(
    batches: Iterable[LostBatch], taken: Collection[str]
) -> Iterator[tuple[Expectation, str]]:
    """Yield a flaky entry, with a comment, for batches that failed alike: by class and words.

    Such entries have no counterexample, as no program shows the failure by itself. `taken` are ids
    of other entries.
    """
    alike: dict[tuple[str, str, str, str], list[LostBatch]] = {}
    for one in batches:
        key = (one.backend, one.verdict.value, one.kind, general(own_words(one.message)))
        alike.setdefault(key, []).append(one)
    ids = {*taken}
    for (backend, verdict, kind, words), found in alike.items():
        cases = [case for one in found for case in one.cases]
        ops = tuple(dict.fromkeys(lowered_to(op) for op, _, _ in cases))
        entry = Expectation(
            id=free_id(f"lost batch {verdict} {kind}", ids),
            op=ops,
            reason=TODO,
            element_types=tuple(dict.fromkeys(of for _, of, _ in cases)),
            verdicts=(verdict,),
            kinds=(kind,) if kind else ("*",),
            words=(words,) if words else (),
            where=() if words else tuple(f'"stablehlo.{op}"' for op in ops),
            backends=(backend,),
            flaky=True,
        )
        ids.add(entry.id)
        count = f"{len(found)} batches" if len(found) > 1 else "1 batch"
        yield entry, f"from {count}, such as {found[0].name}: none of the cases fails in isolation"
