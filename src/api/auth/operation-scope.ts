import type { Capability, Scope } from "../../domain/accounts/key-limits.ts";
import { roleAllows, type Role } from "../../domain/accounts/principal.ts";
import type { Operation } from "../http/operation.ts";
import { changesSomething } from "../http/request-audit.ts";

const CAPABILITY_OF_TAG: Readonly<Record<string, Capability>> = {
  Projects: "projects",
  "Flow versions": "projects",
  Environments: "projects",
  "Project IO schemas": "projects",
  Flows: "projects",
  Pages: "projects",
  "Run Flow": "runs",
  Documents: "documents",
  Runs: "runs",
  "Knowledge bases": "knowledge",
  Triggers: "triggers",
  Skills: "skills",
  "Evaluation datasets": "evals",
  Evaluators: "evals",
  Experiments: "evals",
  Monitors: "evals",
  "Run scores": "evals",
  Webhooks: "webhooks",
  "Providers and actions": "providers",
  Connections: "providers",
  Models: "models",
  "API keys": "keys",
  Users: "users",
  Sessions: "users",
  Erasures: "users",
  "Audit log": "audit",
  Service: "service",
};

/** The lowest role that may call an operation. */
export function neededRole({ role, method }: Pick<Operation, "role" | "method">): Role {
  return role ?? (method === "GET" ? "viewer" : "editor");
}

/**
 * The scope of an operation, from its tag's capability. It is a reading scope if a viewer may call the operation and
 * it changes nothing. Throws when the process starts if a tag has no capability, so no operation is forgotten.
 */
export function scopeOf(operation: Operation): Scope {
  const capability = CAPABILITY_OF_TAG[operation.tag];
  if (capability === undefined) throw new Error(`${operation.id}: the tag ${operation.tag} has no capability`);
  const reads =
    operation.method === "GET" || (!changesSomething(operation) && roleAllows("viewer", neededRole(operation)));
  return { capability, access: reads ? "read" : "write" };
}
