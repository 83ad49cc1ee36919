"""Hooks of schemathesis; schemathesis.toml names this file."""

import os

import schemathesis

WHOLE = float(os.environ["MILLRACE_LONG_SHARE"]) >= 1
# What the coverage phase has tried.
seen = set()


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
    about a third: the others repeat these with another value.
    """
    made = case.meta.phase.data if case.meta else None
    if WHOLE or not hasattr(made, "scenario"):
        return True
    places = (made.parameter_location, made.parameter, made.location)
    kind = (case.operation.label, made.scenario, made.description, *map(str, places))
    if kind in seen:
        return False
    seen.add(kind)
    return True
