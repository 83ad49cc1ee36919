import type { Expression } from "../../src/domain/flow/nodes/spec.ts";
import type { Scope } from "../../src/domain/flow/scope.ts";
import type { Json } from "../../src/domain/json.ts";
import type { Evaluation } from "../../src/platform/evaluation/evaluation.ts";

/** The texts of templates, by their source. */
export async function renderTemplates(
  evaluation: Evaluation,
  orgId: string,
  templates: readonly Expression[],
  scope: Scope,
): Promise<ReadonlyMap<string, string>> {
  const texts = await evaluation.sources(orgId, templates, scope);
  return new Map(templates.map(({ source }, at) => [source, texts[at] as string]));
}

/** A value with its templates replaced by their rendered texts. */
export function renderInside(value: Json, rendered: ReadonlyMap<string, string>): Json {
  if (typeof value === "string") return rendered.get(value) ?? value;
  if (Array.isArray(value)) return value.map((each: Json) => renderInside(each, rendered));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, renderInside(member, rendered)]));
}
