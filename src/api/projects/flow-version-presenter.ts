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
    version: z.int(),
    content_hash: z
      .string()
      .describe("SHA-256 in hexadecimal digits of what the flow does; identical content has the same hash."),
    notes: z.string(),
    published: z.boolean().describe("Whether this is the version that -1 means."),
    created_by: z.uuid().nullable().describe("ID of the user or API key."),
    created_by_name: z
      .string()
      .nullable()
      .describe("Email address of the user or name of the API key; `null` if it no longer exists."),
    created_at: z.iso.datetime(),
  })
  .meta({ id: "FlowVersion" });

/** A flow in a request or a response; the document describes its fields. */
export const flowSchema = z.looseObject({}).meta({ id: "Flow" });

export const flowVersionWithFlowSchema = flowVersionSchema
  .extend({ flow: flowSchema })
  .meta({ id: "FlowVersionWithFlow" });

export const presentFlowVersion = (version: FlowVersionHead) => asDeclared(flowVersionSchema, version);

export function presentFlowVersionWithFlow(
  version: FlowVersion,
  reader: Principal,
): z.infer<typeof flowVersionWithFlowSchema> {
  const flow = version.definition as unknown as JsonObject;
  return { ...presentFlowVersion(version), flow: seesSecrets(reader) ? flow : maskLiterals(flow) };
}
