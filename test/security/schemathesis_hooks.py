"""Hooks of schemathesis; schemathesis.toml names this file."""

import os
from collections import Counter

import schemathesis

WHOLE = float(os.environ["MILLRACE_LONG_SHARE"]) >= 1
# What the coverage phase has tried, and in how many operations a parameter of this name.
seen = set()
operations = Counter()
ENOUGH = 8


def names_a_prototype(value):
    if isinstance(value, dict):
        return "__proto__" in value or any(map(names_a_prototype, value.values()))
    return isinstance(value, list) and any(map(names_a_prototype, value))


@schemathesis.hook
def filter_case(context, case):
    """
    A member named __proto__ is a 422 at any depth. JSON Schema could say so only by a recursive schema wherever any value may
    stand, which generators of clients do not read, so these would be "valid requests that were rejected".
    test/api/http/errors.test.ts has them instead.
    """
    return not names_a_prototype(case.body)


@schemathesis.hook("filter_case")
def is_of_the_share(context, case):
    """
    The coverage phase tries some 300 cases an operation. A share of them is one of each description, kind and place in the request,
    about a third: the others repeat these with another value. A parameter that many operations have, such as page_size, is tried in
    some of them: one piece of code reads it.
    """
    made = case.meta.phase.data if case.meta else None
    if WHOLE or not hasattr(made, "scenario"):
        return True
    kind = (made.scenario, made.description, made.parameter_location, made.parameter, made.location)
    if (case.operation.label, *kind) in seen:
        return False
    seen.add((case.operation.label, *kind))
    operations[kind] += 1
    return made.parameter is None or made.parameter_location == "body" or operations[kind] <= ENOUGH
