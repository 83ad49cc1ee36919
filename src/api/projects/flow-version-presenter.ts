import { z } from "zod";
import { seesSecrets } from "../../domain/accounts/principal.ts";
import type { Principal } from "../../domain/accounts/principal.ts";
import type { JsonObject } from "../../domain/json.ts";
import { maskLiterals } from "../../platform/logging/literal-secrets.ts";
import type { FlowVersion, FlowVersionHead } from "../../stores/projects/flow-versions.ts";
import { asDeclared } from "../http/as-declared.ts";

export const flowVersionSchema = z
  .object({
    project_id: z.uuid(),
    version: z.int().min(1),
    content_hash: z.string().describe("SHA-256 (hex) of what the flow does: the same for the same content."),
    notes: z.string(),
    published: z.boolean().describe("Whether -1 means this version."),
    created_by: z.uuid().nullable().describe("Id of the user or API key."),
    created_at: z.iso.datetime(),
  })
  .meta({ id: "FlowVersion" });

/** A flow in a request or an answer; the document describes its members. */
export const flowSchema = z.looseObject({}).meta({ id: "Flow" });

export const flowVersionWithFlowSchema = flowVersionSchema
  .extend({ flow: flowSchema })
  .meta({ id: "FlowVersionWithFlow" });

export function presentFlowVersion(version: FlowVersionHead): z.infer<typeof flowVersionSchema> {
  return asDeclared(flowVersionSchema, version);
}

export function presentFlowVersionWithFlow(
  version: FlowVersion,
  reader: Principal,
): z.infer<typeof flowVersionWithFlowSchema> {
  const flow = version.definition as unknown as JsonObject;
  return { ...presentFlowVersion(version), flow: seesSecrets(reader) ? flow : maskLiterals(flow) };
}
