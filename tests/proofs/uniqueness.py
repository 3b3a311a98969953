"""Proof of unique values. The letters are those of its page's list of what is proven."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from dynamap import Async, ItemNotFound, OutcomeUnknown, Store, Sync, Table, evolve
from dynamap.testing import Items, Run
from tests.proofs.framework import Mutant, Scenario, Stage, StagedBench


def staged(recipe: ModuleType, stage: Stage, fault_rate: float = 0.2) -> StagedBench:
    """A bench that checks U2 and U3: after every write, records and claims agree."""
    bench = stage.bench(Table("members", [recipe.Registrant, recipe.Claim]), fault_rate=fault_rate)

    @bench.invariant
    def claims_and_records_agree(items: Items) -> None:
        claims = sorted((each.field, each.value, each.owner) for each in items.of(recipe.Claim))
        held = sorted(
            (field, value, each.id) for each in items.of(recipe.Registrant) for field, value in recipe.claims_of(each)
        )
        values = [value[:2] for value in held]
        assert len(set(values)) == len(values), f"U1, U2: several have one value: {held}"
        owners = {each.id for each in items.of(recipe.Registrant)}
        orphans = [claim for claim in claims if claim[2] not in owners]
        assert not orphans, f"U2, U3, U5: {orphans} are claims of nobody"
        assert claims == held, f"U2, U3: {claims} for {held}"

    return bench


async def settled(recipe: ModuleType, call: Callable[[], Any]) -> Any:
    """What a call comes to, its own exceptions as words."""
    try:
        return await call()
    except recipe.Contended:
        return "contended"
    except recipe.ClaimsDamaged:
        return "damaged"


def put(store: Store[Sync], recipe: ModuleType, registrant: Any) -> None:
    store.of(recipe.Registrant).put(registrant).send()
    for claim in recipe.claims_of(registrant).values():
        store.of(recipe.Claim).put(claim).send()


def check_ends(run: Run, letter: str, *allowed: type[Exception]) -> None:
    """Nobody fails but for what is allowed, and nobody gives up or takes the table for damaged."""
    for name, outcome in run.outcomes.items():
        known = outcome.error is None or isinstance(outcome.error, (OutcomeUnknown, *allowed))
        assert known, f"{letter}: {name}: {outcome.error!r}"
        assert outcome.result not in ("contended", "damaged"), f"{letter}: {name} ends as {outcome.result}"


def registrations(recipe: ModuleType, stage: Stage) -> StagedBench:
    """U1, U6, U7: of those who want a value, however written, one gets it; who starts again gets it too."""
    bench = staged(recipe, stage, 0.25)

    async def register(store: Store[Async], name: str, email: str, handle: str | None) -> Any:
        registrant = recipe.Registrant(name, f"form of {name}", email, handle)
        return await settled(recipe, lambda: recipe.register(store, registrant))

    # ann shares her address with bea and her handle with cat; the addresses of bea and cat only look alike
    for name, email, handle in (
        ("ann", "Zoe\u0308\u00df#2@example.org", "Boss"),
        ("bea", " ZO\u00cbSS#2@EXAMPLE.ORG\t", None),
        ("cat", "zo\u00ebss#\u00b2@example.org", "bOSS\n"),
    ):
        bench.client(register, name, email, handle, name=name, restarts=1)

    @bench.afterwards
    def each_value_went_to_one(run: Run) -> None:
        check_ends(run, "U1")
        stored = {each.id for each in run.items.of(recipe.Registrant)}
        taken = {"ann": {"bea": "email", "cat": "handle"}, "bea": {"ann": "email"}, "cat": {"ann": "handle"}}
        for name, outcome in run.outcomes.items():
            if isinstance(outcome.result, recipe.Done):
                assert outcome.result.registrant.id == name
                assert name in stored, f"U1: {name} is done, and is not there"
            elif isinstance(outcome.result, recipe.Taken):
                assert name not in stored, f"U6: {name} was told that its own value is taken"
                fields = {taken[name][other] for other in taken[name] if other in stored}
                assert outcome.result.field in fields, f"U1, U7: {name} was refused for its {outcome.result.field}"
        if all(isinstance(each.result, (recipe.Done, recipe.Taken)) for each in run.outcomes.values()):
            assert len(stored & {"ann", "bea"}) == 1, f"U1, U7: {sorted(stored)}"

    return bench


def swaps(recipe: ModuleType, stage: Stage) -> StagedBench:
    """U4: two who want each other's value both keep theirs; U6: what is repeated is recognised by its id alone."""
    bench = staged(recipe, stage)

    @bench.setup
    def both_are_there(store: Store[Sync]) -> None:
        put(store, recipe, recipe.Registrant("ann", "form 1", "x", "first"))
        put(store, recipe, recipe.Registrant("bea", "form 2", "y"))

    async def want(store: Store[Async], name: str, email: str) -> Any:
        wanted = {"email": email, "handle": None}
        return await settled(recipe, lambda: recipe.change(store, name, lambda each: evolve(each, **wanted)))

    async def repeat(store: Store[Async], registration: str) -> Any:
        done = await settled(recipe, lambda: recipe.change(store, "ann", lambda each: evolve(each, handle="second")))
        assert isinstance(done, recipe.Done), f"U4: a handle that nobody else has: {done}"
        again = recipe.Registrant("ann", registration, "x", "first")
        return await settled(recipe, lambda: recipe.register(store, again))

    bench.client(want, "ann", "Y", name="ann")
    bench.client(want, "bea", "X", name="bea")
    bench.client(repeat, "form 1", name="ann again")
    bench.client(repeat, "form 3", name="another ann")

    @bench.afterwards
    def nobody_has_what_was_taken(run: Run) -> None:
        check_ends(run, "U4")
        outcomes = run.outcomes
        for name in ("ann", "bea"):
            assert not isinstance(outcomes[name].result, recipe.Done), f"U4: {name} has what the other one has"
            if isinstance(outcomes[name].result, recipe.Taken):
                assert outcomes[name].result.field == "email", f"U1: {outcomes[name].result.field}"
        assert not isinstance(outcomes["ann again"].result, recipe.Taken), "U6: a repetition was refused"
        assert not isinstance(outcomes["another ann"].result, recipe.Done), "U6: two were told that they are ann"
        assert sorted(each.email for each in run.items.of(recipe.Registrant)) == ["x", "y"]

    return bench


def lives(recipe: ModuleType, stage: Stage) -> StagedBench:
    """U4, U5: values that go to and fro, and on to another when their owner is deleted."""
    bench = staged(recipe, stage, 0.15)

    @bench.setup
    def ann_is_there(store: Store[Sync]) -> None:
        put(store, recipe, recipe.Registrant("ann", "form 1", "x", "first", frozenset({"1", "2"})))

    async def move(store: Store[Async], email: str) -> Any:
        result = await settled(recipe, lambda: recipe.change(store, "ann", lambda each: evolve(each, email=email)))
        assert not isinstance(result, recipe.Taken), "U4: a value that nobody else has was refused"
        return result

    @bench.client
    async def to_and_fro(store: Store[Async]) -> Any:
        await move(store, "z")
        return await move(store, "X ")

    @bench.client
    async def give_up(store: Store[Async]) -> Any:
        await settled(
            recipe, lambda: recipe.change(store, "ann", lambda each: evolve(each, phones=each.phones | {"3"}))
        )
        return await settled(recipe, lambda: recipe.release(store, "ann", " FIRST"))

    @bench.client
    async def take_over(store: Store[Async]) -> Any:
        deleted = await settled(recipe, lambda: recipe.delete(store, "ann"))
        if not isinstance(deleted, recipe.Registrant):
            return deleted
        after = evolve(deleted, id="bea", registration="form 2", revision=0)
        result = await settled(recipe, lambda: recipe.register(store, after))
        assert not isinstance(result, recipe.Taken), f"U5: {result} was not free"
        return result

    @bench.afterwards
    def nobody_is_in_the_way(run: Run) -> None:
        check_ends(run, "U4", ItemNotFound)

    return bench


def given_away(recipe: ModuleType, stage: Stage) -> StagedBench:
    """U4: where somebody has given a value to another by hand, its new owner keeps it."""
    bench = stage.bench(Table("members", [recipe.Registrant, recipe.Claim]), fault_rate=0.25)

    @bench.setup
    def the_claim_is_of_another(store: Store[Sync]) -> None:
        put(store, recipe, recipe.Registrant("ann", "form 1", "x"))
        put(store, recipe, recipe.Registrant("bea", "form 2", "x"))

    async def leave(store: Store[Async], deletes: bool) -> Any:
        if deletes:
            return await settled(recipe, lambda: recipe.delete(store, "ann"))
        return await settled(recipe, lambda: recipe.change(store, "ann", lambda each: evolve(each, email="z")))

    bench.client(leave, False, name="change", count=2)
    bench.client(leave, True, name="delete", count=2)

    @bench.afterwards
    def all_are_refused(run: Run) -> None:
        assert [(each.value, each.owner) for each in run.items.of(recipe.Claim)] == [("x", "bea")], "U4: taken away"
        results = {each.result for each in run.outcomes.values() if each.returned}
        assert results <= {"damaged"}, f"U4: {results}"

    return bench


SCENARIOS: Sequence[Scenario] = (registrations, swaps, lives, given_away)

MUTANTS: Sequence[Mutant] = (
    Mutant("U1", "a claim that takes what is there", "put(claim).if_not_exists()", "put(claim)"),
    Mutant("U1", "the wrong field", "if claim is not None and claim.owner != owner:", "if claim is None:"),
    Mutant(
        "U2",
        "a change without its guard",
        "rewrite = store.of(Registrant).update(old).to(new)",
        "seen = await store.of(Registrant).get(id=id).required().send()\n"
        "    rewrite = store.of(Registrant).put(evolve(new, revision=seen.revision))",
    ),
    Mutant(
        "U2",
        "a change that releases nothing",
        "claim in held.items() if key not in wanted",
        "claim in held.items() if not key",
    ),
    Mutant("U4", "what stays the same value is claimed again", "if key not in held}", "if key}"),
    Mutant(
        "U5",
        "a delete without its guard",
        "store.of(Registrant).delete(registrant), *releases",
        "store.of(Registrant).delete(id=id).ignore_version(), *releases",
    ),
    Mutant(
        "U3",
        "claims in a transaction of their own",
        "result = await store.transact(create, *takes.values()).try_send()",
        "await store.transact(*takes.values()).send(); result = await store.transact(create).try_send()",
    ),
    Mutant(
        "U4", "what is another's is released", ".delete(claim).if_(F(Claim.owner).eq(claim.owner))", ".delete(claim)"
    ),
    Mutant("U5", "a delete that releases nothing", "delete(registrant), *releases)", "delete(registrant))"),
    Mutant(
        "U6", "the payload is compared", "existing.registration == registrant.registration", "existing == registrant"
    ),
    Mutant("U6", "whoever is there is me", "existing.registration == registrant.registration", "existing.id"),
    Mutant("U7", "case", "decomposed.casefold()", "decomposed"),
    Mutant("U7", "case of one letter at a time", "decomposed.casefold()", "decomposed.lower()"),
    Mutant("U7", "space", ").strip()", ")"),
    Mutant("U7", "composition", 'unicodedata.normalize("NFC", decomposed.casefold())', "value.casefold()"),
    Mutant("U7", "what only looks alike", 'normalize("NFC"', 'normalize("NFKC"'),
)
