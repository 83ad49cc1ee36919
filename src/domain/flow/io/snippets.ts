import { z } from "zod";
import type { Json, JsonObject } from "../../json.ts";
import { flowCode } from "./call-code.ts";
import type { FlowAddress } from "./io-formats.ts";
import type { FlowIo } from "./io-schema.ts";

/** Ready-to-paste code that calls a flow; it needs only the language itself and MILLRACE_API_KEY. */
export const flowSnippetsSchema = z
  .object({ curl: z.string(), python: z.string(), javascript: z.string() })
  .meta({ id: "FlowSnippets" });

/** The user ID in the snippets of flows that read uploaded documents. */
const HANDLE = "ada-1";

/** Writes the snippets of a flow with the inputs of its first example, or with made-up inputs. */
export function flowSnippets(
  io: FlowIo,
  { base_url, org_id, environment }: FlowAddress,
): z.output<typeof flowSnippetsSchema> {
  const properties = Object.entries(io.inputs["properties"] as Readonly<Record<string, JsonObject>>);
  const upload = properties.find(([, schema]) => schema["x-upload"] === true)?.[0];
  const inputs: Record<string, Json> = { ...(io.examples[0]?.inputs ?? sampleInputs(io, properties)) };
  if (upload !== undefined && inputs["user_id"] === undefined) inputs["user_id"] = HANDLE;
  const call = {
    base: base_url,
    org_id,
    project_id: io.project_id,
    version: null,
    environment: environment ?? null,
    way: "sync",
    inputs,
    uploads: upload === undefined ? [] : [{ node_id: upload, file: "report.pdf" }],
  } as const;
  return {
    curl: `${flowCode("curl", call)}\n`,
    python: flowCode("Python", call),
    javascript: flowCode("JavaScript", call),
  };
}

function sampleInputs(io: FlowIo, properties: ReadonlyArray<readonly [string, JsonObject]>): JsonObject {
  const required = io.inputs["required"] as readonly string[];
  return Object.fromEntries(
    properties
      .filter(([id, schema]) => required.includes(id) || schema["default"] !== undefined)
      .map(([id, schema]) => [
        id,
        schema["default"] ?? firstExample(schema) ?? (schema["format"] === "uri" ? "https://example.com/" : "Hello"),
      ]),
  );
}

function firstExample({ examples }: { readonly examples?: Json }): Json | undefined {
  return Array.isArray(examples) ? (examples as readonly Json[])[0] : undefined;
}
