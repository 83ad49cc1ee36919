import { INLINE_VALUE_BYTES, jsonLength, type Json, type StoredValue } from "../../../src/domain/json.ts";
import { local } from "../../activities.ts";
import type { RunContext } from "../context.ts";

/**
 * Joins values into an object or a list. The result is a reference if it is long, or if one of its parts is a reference and it must be
 * joined outside the workflow.
 */
export async function assemble(
  ctx: RunContext,
  kind: "array" | "concat" | "object",
  parts: readonly StoredValue[],
  names: readonly string[] = [],
): Promise<StoredValue> {
  const values = parts.flatMap((part) => ("v" in part ? [part.v] : []));
  if (values.length === parts.length) {
    const value = join(kind, values, names);
    if (jsonLength(value) <= INLINE_VALUE_BYTES) return { v: value };
  }
  return ctx.work.whileLocalActivityRuns(() => local.assemble({ org_id: ctx.input.org_id, kind, parts, names }));
}

function join(kind: "array" | "concat" | "object", values: readonly Json[], names: readonly string[]): Json {
  switch (kind) {
    case "array":
      return values;
    case "concat":
      return values.flatMap((list) => list as readonly Json[]);
    case "object":
      return Object.fromEntries(names.map((name, at) => [name, values[at] ?? null]));
    default:
      return kind satisfies never;
  }
}

/** The result of an iteration: the value of the nested flow's only output, or an object of all outputs. */
export async function yieldOf(ctx: RunContext, outputs: Readonly<Record<string, StoredValue>>): Promise<StoredValue> {
  const names = Object.keys(outputs);
  const [only] = names;
  if (only === undefined) return { v: null };
  if (names.length === 1) return outputs[only] ?? { v: null };
  return assemble(ctx, "object", Object.values(outputs), names);
}
