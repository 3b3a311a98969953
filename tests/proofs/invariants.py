"""What each recipe promises, by letter: checks name the letter, and each letter has a mutant that breaks it."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["ASYNCIO_ONLY", "INVARIANTS"]

INVARIANTS: Mapping[str, Mapping[str, str]] = {
    "optimistic_locking": {
        "O1": "Each successful change raises the version by one, counted from where the item began, and is one change.",
        "O2": "Of n writers with one change each all succeed, losing at most n - 1 runs each, and all changes add up.",
        "O3": "A change is made from the state directly before it, also over a deletion, and from before versions.",
        "O4": "What fails leaves the object as it was read.",
        "O5": "A change that is stored is never taken for a conflict because its answer was lost.",
        "sum": "A transfer changes both accounts or none.",
        "overdraft": "A transfer never leaves less than nothing.",
    },
    "uniqueness": {
        "U1": "Of those who want a value one is done; the others are told which of their fields is taken.",
        "U2": "After every step a claim stands exactly where its owner's record has the value.",
        "U3": "A crash at any call leaves it so.",
        "U4": "Values may go to and fro; who want each other's keep their own; only its owner's claim is released.",
        "U5": "What was given up is free for others at once.",
        "U6": "A registration that is repeated is recognised by its id alone, and another one is not.",
        "U7": "What is equal when normalised is one value, and nothing else is.",
    },
    "idempotency": {
        "I1": "A key has at most one effect while it is remembered, and who succeeds gets the answer of that one.",
        "I2": "A body runs once, again for each lease that ran out or body that failed; only owners change records.",
        "I3": "A key that comes with another request does nothing and changes nothing.",
        "I4": "A record is not replaced before its end, and counts as none after it, deleted or not.",
        "I5": "A crash blocks its key until the lease ends, and then one goes on.",
        "I6": "Answers come back equal and of their type, empty and false ones too.",
        "I7": "A record ends at one moment, the same in the condition and in the code.",
    },
    "out_of_order": {
        "E1": "A group ends as the newest of the events that were delivered, whatever the order.",
        "E2": "Groups do not touch one another.",
        "E3": "An event is applied at most once; delivered again it is already stored, and an older one superseded.",
        "E4": "A stored stamp never goes back.",
        "E5": "An event that its own lost attempt stored is already stored, or superseded by a newer one.",
        "removed": "A removed match comes back by a newer restoration only, and is then kept.",
        "must_exist": "An event that must find its match makes none.",
    },
    "counters": {
        "C1": "At most once: no more than what was begun, no call twice; at least once: no less than was acknowledged.",
        "C2": "An idempotent count is the number of its distinct events, and of what it remembers of them.",
        "C3": "A total of shards is what was added: no less than before it began, no more than when it ended.",
        "C4": "Concurrent additions of one sign have different answers.",
        "C5": "A stock is never below nothing, and loses what was granted, or may have been.",
        "C6": "Amounts of nothing, below nothing and of tenths are exact.",
    },
    "hilo": {
        "H1": "All numbers of all processes differ.",
        "H2": "Numbers rise within a block.",
        "H3": "What is wasted is at most a block for each process, crash and lost answer.",
        "H4": "There are no more requests than blocks that are needed, and faults.",
        "H5": "A task that is cancelled loses at most a block, and nobody else's number.",
        "created": "Of those who create the counter one does, and the others leave it as it is.",
    },
    "gapless_sequence": {
        "G1": "The numbers are 1 to n, and n is the counter, at every step.",
        "G2": "A business key has one document, and one number.",
        "G3": "N writers get N consecutive numbers.",
    },
    "outbox": {
        "X1": "A change is stored exactly if its event is.",
        "X2": "What was committed is published once there is time for it.",
        "X3": "What was not committed, or not so, is never published.",
        "X4": "Without faults each event is published once, with f faults at most 1 + f times.",
        "X5": "Of one key the first publications are in the order of the changes.",
        "X6": "A parked event is kept, was tried as often as it should, and holds up no other key.",
        "X7": "One relay at a time publishes from a bucket, however many there are, and whatever a page shows.",
    },
    "soft_delete": {
        "S1": "Each operation does what it does to a dictionary with tombstones.",
        "S2": "Nothing comes to be but by a creation.",
        "S3": "What is deleted is in no answer, and in all with the flag.",
        "S4": "A limit counts what is shown.",
        "S6": "Items come back with every value, empty and false ones too.",
        "claims": "A value is claimed exactly while its owner is live.",
    },
    "truncate": {
        "S5": "Nothing of the type is left, whatever the pages and batches; of another type or table nothing goes.",
    },
}
"""By recipe. The letters are also those of its page; what has a word instead is promised by this recipe besides."""

ASYNCIO_ONLY: Mapping[str, set[str]] = {"hilo": {"H5"}}
"""What only a task can suffer: a thread is not cancelled."""
