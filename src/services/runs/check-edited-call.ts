import { invalid, invalidParts } from "../../domain/errors.ts";
import { isObject, type Json, type JsonObject } from "../../domain/json.ts";
import { ownerOf } from "../../domain/models/agent.ts";
import { NodeFailure } from "../../domain/runs/failure.ts";
import type { PauseRow } from "../../stores/runs/pauses.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import { findTools } from "../models/find-tools.ts";
import type { Parts } from "../parts.ts";

export type EditedCallDeps = Parts<"db" | "evaluation" | "maxInputBytes" | "plans">;

const DATA = ["body", "data"];

/**
 * The arguments of an edited tool call, from an answer whose data has the same shape as the pause's. Throws 422 for any
 * other shape, because additional data would silently be ignored.
 */
export function editedArguments({ data: shown }: PauseRow, data: Json): JsonObject {
  if (!isObject(data)) throw invalid(DATA, "An edited call must be an object like the pause's data", "object_type");
  const { tool, arguments: given, ...others } = data;
  const [other] = Object.keys(others);
  if (other !== undefined)
    throw invalid([...DATA, other], 'An edited call must have the shape that the pause shows: {"tool", "arguments"}');
  if (given === undefined)
    throw invalid([...DATA, "arguments"], "Send the arguments of the call, as the pause shows them", "missing");
  if (!isObject(given))
    throw invalid([...DATA, "arguments"], "The arguments of a call must be an object", "object_type");
  const name = isObject(shown) ? shown["tool"] : undefined;
  if (tool !== undefined && name !== undefined && tool !== name)
    throw invalid([...DATA, "tool"], "The tool cannot be changed: reject the call, and say in the comment why");
  return given;
}

/** Throws 422 if edited arguments do not fit the current tool. */
export async function checkEditedCall(
  { db, evaluation, plans, maxInputBytes }: EditedCallDeps,
  run: RunRow,
  { path, data: shown }: PauseRow,
  given: JsonObject,
): Promise<void> {
  const node = (await plans.get(run)).node(ownerOf(path).replaceAll(/\[\d{1,9}\]/g, ""));
  if (node.type !== "llm" || !isObject(shown)) return;
  const tools = await findTools(db, run, node.config.tools ?? [], { max_input_bytes: maxInputBytes }).catch(
    (error: unknown) => {
      // If the tool was deleted, nothing can be checked; the call itself fails with a clear error.
      if (error instanceof NodeFailure) return [];
      throw error;
    },
  );
  const schema = tools.find(({ name }) => name === shown["tool"])?.input_schema;
  if (schema === undefined) return;
  const known = isObject(shown["arguments"]) ? shown["arguments"] : {};
  const strange = strangers(schema, given).filter((name) => !Object.hasOwn(known, name));
  const issues = (await evaluation.answer(run.org_id, schema, given)).filter(
    // A closed schema reports an unknown field at its object, which the better message for `strange` replaces.
    ({ path: at }) => strange.length === 0 || at.length > 0,
  );
  const places = [
    ...strange.map((name) => ({ path: [name], message: "The tool does not have this argument" })),
    ...issues,
  ];
  if (places.length > 0) throw invalidParts([...DATA, "arguments"], places);
}

/** Arguments that the tool does not list, such as a misspelled name, which an open schema would silently accept. */
function strangers(schema: JsonObject, given: JsonObject): string[] {
  const { properties, additionalProperties = false, patternProperties } = schema;
  if (!isObject(properties) || additionalProperties !== false || patternProperties !== undefined) return [];
  return Object.keys(given).filter((name) => !Object.hasOwn(properties, name));
}
