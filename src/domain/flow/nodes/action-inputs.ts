import type { Json } from "../../json.ts";
import { isUuid } from "../../uuid.ts";
import { ENVIRONMENT_NAME } from "../../projects/environments.ts";
import { environmentReference } from "./called-flow.ts";
import type { NodeReference, ReferenceKind } from "./spec.ts";

/**
 * Inputs of Millrace's own actions that refer to something of the organisation. A run's ID is not among them, because the run is looked up
 * when it is read.
 */
const NAMES: Readonly<Record<string, readonly [input: string, kind: ReferenceKind]>> = {
  "millrace/start_run": ["project_id", "project"],
  "millrace/query_knowledge_base": ["knowledge_base_id", "knowledge_base"],
};

/** The references in an action's inputs. An ID from a template is known only when the node runs, and is checked then. */
export function inputReferences(
  providerId: string,
  actionId: string,
  inputs: Readonly<Record<string, Json>>,
  member: string,
): NodeReference[] {
  const [input, kind] = NAMES[`${providerId}/${actionId}`] ?? [];
  const id = input === undefined ? undefined : inputs[input];
  if (input === undefined || kind === undefined || typeof id !== "string" || !isUuid(id)) return [];
  const { environment } = inputs;
  const named =
    kind === "project" && typeof environment === "string" && ENVIRONMENT_NAME.test(environment)
      ? environment
      : undefined;
  const references: NodeReference[] = [
    { kind, id: id.toLowerCase(), path: [input] },
    ...environmentReference(id.toLowerCase(), named),
  ];
  return references.map((each) => ({ ...each, path: [member, ...each.path] }));
}
