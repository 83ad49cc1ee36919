import { objectSchema } from "../../json-schema.ts";
import type { Json, JsonObject } from "../../json.ts";
import type { FlowIo } from "./io-schema.ts";

export const IO_FORMATS = ["jsonschema", "openapi", "mcp"] as const;
export type IoFormat = (typeof IO_FORMATS)[number];

export interface FlowAddress {
  /** The installation's base URL, without a trailing slash. */
  readonly base_url: string;
  readonly org_id: string;
  /** The environment that is called; production if it is not named. */
  readonly environment?: string | undefined;
}

export function presentFlowIo(io: FlowIo, format: IoFormat, address: FlowAddress): FlowIo | JsonObject {
  return { jsonschema: () => io, openapi: () => toOpenApi(io, address), mcp: () => toMcpTool(io) }[format]();
}

/** An OpenAPI 3.1 document with this one flow's inference endpoint. */
export function toOpenApi(io: FlowIo, { base_url, org_id, environment }: FlowAddress): JsonObject {
  const { $schema: _, ...inputs } = io.inputs;
  const { $schema: __, ...outputs } = io.outputs;
  const userId: JsonObject = {
    type: "string",
    description: "<user>-<conversation>: the run can read the documents uploaded with this user_id",
  };
  const body: JsonObject = { ...inputs, properties: { user_id: userId, ...(inputs["properties"] as JsonObject) } };
  const examples = io.examples.map(({ name, inputs: value }) => [name, { summary: name, value }] as const);
  const components = {
    Inputs: body,
    Outputs: outputs,
    Run: runSchema,
    Problem: problemSchema,
    ValidationProblem: validationSchema,
  };
  const ref = (name: keyof typeof components): Json => ({ $ref: `#/components/schemas/${name}` });
  const problem = (description: string) => ({
    description,
    content: { "application/problem+json": { schema: ref("Problem") } },
  });
  const json = (description: string, schema: Json) => ({ description, content: { "application/json": { schema } } });
  const operation: JsonObject = {
    operationId: `run_${toolName(io.name)}`,
    summary: `Run ${io.name}`,
    ...(io.description === null ? {} : { description: io.description }),
    parameters: [
      parameter("version", { type: "integer", default: -1 }, "Version of the flow to run; -1 is the published version"),
      ...(environment === undefined
        ? []
        : [parameter("environment", { type: "string", const: environment }, "Environment to call", true)]),
      parameter("verbose", { type: "boolean", default: true }, "Pass false to get only the outputs"),
    ],
    requestBody: {
      required: true,
      content: {
        "application/json": {
          schema: ref("Inputs"),
          ...(examples.length > 0 ? { examples: Object.fromEntries(examples) } : {}),
        },
      },
    },
    responses: {
      "200": json("The run, or only its outputs", { anyOf: [ref("Run"), ref("Outputs")] }),
      "202": json("The run continues; poll it at the URL in Location", ref("Run")),
      "401": problem("A valid credential is required"),
      "404": problem("The flow or this version of it was not found"),
      "413": problem("The inputs are too large"),
      "422": json("Inputs are missing or invalid", ref("ValidationProblem")),
      "429": problem("Too many requests or runs"),
      "500": problem("The run failed"),
      "502": problem("A service that the flow calls failed"),
      "504": problem("The run exceeded its time limit"),
    },
  };
  return {
    openapi: "3.1.0",
    info: {
      title: io.name,
      version: String(io.version),
      ...(io.description === null ? {} : { description: io.description }),
      "x-content-hash": io.content_hash,
    },
    servers: [{ url: base_url }],
    security: [{ bearer: [] }],
    paths: {
      [`/inference/v0/run/${encodeURIComponent(org_id)}/${encodeURIComponent(io.project_id)}`]: { post: operation },
    },
    components: { schemas: components, securitySchemes: { bearer: { type: "http", scheme: "bearer" } } },
  };
}

/** A Model Context Protocol tool definition of a flow, with which a model can call it. */
export function toMcpTool(io: FlowIo, name = toolName(io.name)): JsonObject {
  // Clients compile the schemas with the dialect that they support, so none is named.
  const { $schema: _, ...inputs } = io.inputs;
  const { $schema: __, ...outputSchema } = io.outputs;
  const properties = Object.entries(inputs["properties"] as Readonly<Record<string, JsonObject>>);
  return {
    name,
    title: io.name,
    description: io.description ?? io.name,
    // A tool call carries no uploads.
    inputSchema: {
      ...inputs,
      properties: Object.fromEntries(properties.filter(([, schema]) => schema["x-upload"] !== true)),
    },
    outputSchema,
  };
}

/** A flow's name in the form that clients accept for tools and operations: at most 60 of A-Z, a-z, 0-9, _ and -. */
export function toolName(name: string): string {
  const plain = name.normalize("NFKD").replaceAll(/\p{Mark}/gu, "");
  return (
    plain
      .replaceAll(/[^A-Za-z0-9_-]+/g, "_")
      .slice(0, 60)
      .replaceAll(/^_+|(?<!_)_+$/g, "") || "flow"
  );
}

function parameter(name: string, schema: Json, description: string, required = false): JsonObject {
  return { name, in: "query", required, description, schema };
}

const text = { type: "string" };
const runSchema = objectSchema({
  outputs: { $ref: "#/components/schemas/Outputs" },
  citations: { type: "array" },
  run_id: text,
  metadata: { type: "object" },
  progress_data: { type: "object" },
  state: text,
  pause: { type: ["object", "null"] },
  error: { type: ["object", "null"] },
});

const problemSchema: JsonObject = {
  type: "object",
  properties: { type: text, title: text, status: { type: "integer" }, detail: text, code: text, request_id: text },
  required: ["title", "status", "code"],
};

const issueSchema = objectSchema({
  loc: { type: "array", items: { type: ["string", "integer"] } },
  msg: text,
  type: text,
});

const validationSchema: JsonObject = {
  type: "object",
  properties: { detail: { type: "array", items: issueSchema }, code: text, request_id: text },
  required: ["detail"],
};
