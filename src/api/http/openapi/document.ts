import type { z } from "zod";
import { flowJsonSchema } from "../../../domain/flow/definition/flow-schema.ts";
import type { Json, JsonObject } from "../../../domain/json.ts";
import type { Operation } from "../operation.ts";
import { COMPONENTS, createSchemaComponents, plainSchemas, type SchemaComponents } from "./components.ts";
import {
  ERROR_SCHEMAS,
  BYTES,
  SHARED_HEADERS,
  createResponseComponents,
  responsesOf,
  type ResponseComponents,
} from "./responses.ts";
import { addExamples } from "./examples.ts";

/** The version of the API, not of the program. */
const API_VERSION = "0.1.0";

const DESCRIPTION = `Millrace runs deployed flows durably and serves them over HTTP.

Every request needs \`Authorization: Bearer <credential>\` with an API key or an access token, except health
checks, metrics, this document, sign-in (\`/token\` and the console's), inbound webhooks and published pages, whose
operations take the handle of a visitor. Public keys run flows and upload documents. Everything under \`/v2\`
needs a secret key, a user's token or a console session.

Errors are \`application/problem+json\` with a stable \`code\`. A request that fails validation returns 422 with
\`{detail: [{loc, msg, type}]}\`, which lists up to 100 invalid locations; a body that is not JSON is a 422 at
\`["body"]\`. A malformed request returns 400, 408 or 413. An \`Expect\` header other than \`100-continue\` returns
417.

Lists return \`{data, cursor, has_more}\`: send \`cursor\` to get the next page, or the previous one with
\`direction=prev\`. An \`Idempotency-Key\` on a POST makes it safe to repeat for 24 hours.`;

/** Generates the OpenAPI 3.1 document of the operations, from the schemas that validate their requests and shape their responses. */
export function openApiDocument(operations: readonly Operation[]): JsonObject {
  const schemas = createSchemaComponents();
  const responses = createResponseComponents();
  const paths: Record<string, Record<string, JsonObject>> = {};
  const tags = [...new Set(operations.map((operation) => operation.tag))];
  // What has one tag stands together, whichever capabilities it belongs to.
  const inOrder = operations.toSorted((a, b) => tags.indexOf(a.tag) - tags.indexOf(b.tag));
  for (const operation of inOrder) {
    const path = (paths[operation.path] ??= {});
    path[operation.method.toLowerCase()] = operationObject(operation, schemas, responses);
  }
  for (const [name, schema] of Object.entries(ERROR_SCHEMAS)) schemas.add(name, schema);
  schemas.add("Flow", flowJsonSchema());
  const document: JsonObject = {
    openapi: "3.1.0",
    info: { title: "Millrace API", version: API_VERSION, description: DESCRIPTION },
    servers: [{ url: "/", description: "The server that this document was loaded from." }],
    tags: tags.map((name) => ({ name })),
    paths,
    components: {
      schemas: schemas.all(),
      responses: responses.all(),
      headers: SHARED_HEADERS as JsonObject,
      parameters: PARAMETERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  };
  return addExamples(plainSchemas(document, COMPONENTS));
}

const PARAMETERS: JsonObject = {
  RequestId: {
    name: "X-Request-Id",
    in: "header",
    description:
      "Returned in the response and written to the log. 1 to 128 letters, digits, `.`, `_` or `-`; any other value is replaced.",
    schema: { type: "string" },
  },
  IdempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    description:
      "Makes the request safe to repeat: for 24 hours the same key with the same request returns the first response.",
    schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[!-~]+$" },
  },
};

const SECURITY_SCHEMES: JsonObject = {
  OAuth2PasswordBearer: { type: "oauth2", flows: { password: { tokenUrl: "token", scopes: {} } } },
  Bearer: {
    type: "http",
    scheme: "bearer",
    description: "An API key (`mr_sec_...`, `mr_pub_...`) or an access token.",
  },
  Visitor: {
    type: "http",
    scheme: "bearer",
    description: "The handle of a visitor of a published page (`v_...`), which `POST /f/{token}/visitors` returns.",
  },
  Session: {
    type: "apiKey",
    in: "cookie",
    name: "millrace_session",
    description:
      "Session of a person signed in to the console (cookie `__Host-millrace_session` over https). Requests that change something must come from the same origin.",
  },
};

function operationObject(operation: Operation, schemas: SchemaComponents, shared: ResponseComponents): JsonObject {
  const security = securityOf(operation);
  const body = requestBody(operation, schemas);
  return {
    tags: [operation.tag],
    summary: operation.summary,
    description: operation.description,
    operationId: operation.id,
    ...(security && { security }),
    parameters: parametersOf(operation, schemas),
    ...(body && { requestBody: body }),
    responses: responsesOf(operation, schemas, shared),
  };
}

/** Operations that public keys may call declare only the password flow, as interface.md does for the run operation. */
function securityOf(operation: Operation): Json | null {
  if (operation.visitor !== undefined) return [...(operation.visitor === "optional" ? [{}] : []), { Visitor: [] }];
  if (operation.auth === "none") return null;
  if (operation.auth === "public") return [{ OAuth2PasswordBearer: [] }];
  return [{ Bearer: [] }, { OAuth2PasswordBearer: [] }, { Session: [] }];
}

function parametersOf(operation: Operation, schemas: SchemaComponents): Json[] {
  const own = (["path", "query", "header"] as const).flatMap((place) => {
    const schema = place === "path" ? operation.params : place === "query" ? operation.query : operation.headers;
    return schema ? parametersIn(place, schema, schemas) : [];
  });
  const shared = ["RequestId", ...(operation.idempotent ? ["IdempotencyKey"] : [])];
  return [...own, ...shared.map((name) => ({ $ref: `#/components/parameters/${name}` }))];
}

function parametersIn(place: "path" | "query" | "header", schema: z.ZodObject, schemas: SchemaComponents): Json[] {
  const { properties, required = [] } = schemas.convert(schema, "input") as unknown as {
    properties: Record<string, JsonObject>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name: place === "header" ? headerName(name) : name,
    in: place,
    required: place === "path" || required.includes(name),
    ...(description !== undefined && { description }),
    schema: rest,
  }));
}

function requestBody(operation: Operation, schemas: SchemaComponents): JsonObject | null {
  const { body, multipart, form, bytes } = operation;
  const schemaOf = (schema: z.ZodType) => ({ schema: schemas.convert(schema, "input") });
  const named = Object.entries(operation.examples ?? {}).map(([name, value]) => [name, { value: value as Json }]);
  const examples = named.length > 0 && { examples: Object.fromEntries(named) as JsonObject };
  const content: JsonObject = {
    ...(body && { "application/json": { ...schemaOf(body), ...examples } }),
    ...(multipart && { "multipart/form-data": schemaOf(multipart) }),
    ...(form && { "application/x-www-form-urlencoded": schemaOf(form) }),
    ...(bytes !== undefined && { [bytes]: multipart ? { schema: BYTES } : { schema: {}, ...examples } }),
  };
  if (Object.keys(content).length === 0) return null;
  const required = (multipart ?? form) ? true : body?.safeParse(undefined).success === false;
  return { required, content };
}

function headerName(lower: string): string {
  return lower.replaceAll(/(^|-)([a-z])/g, (_, dash: string, letter: string) => dash + letter.toUpperCase());
}
