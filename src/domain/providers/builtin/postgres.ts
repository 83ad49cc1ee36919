import type { JsonObject } from "../../json.ts";
import { ActionRefused, defineAction, inputsOf, READS } from "../action.ts";
import { basic, certificate, plain } from "../auth-fields.ts";
import type { Credential } from "../connection.ts";
import type { BuiltinProvider } from "../provider.ts";

/** Rows that a statement may answer. The answer says when there are more. */
const MAX_ROWS = 10_000;
export const DEFAULT_ROWS = 1000;
/** Time that the server gives a statement, where the inputs name none (s). */
export const DEFAULT_STATEMENT_SECONDS = 30;

const statement = {
  sql: {
    type: "string",
    minLength: 1,
    maxLength: 100_000,
    description: "One statement; values go into params and stand in it as $1, $2",
  },
  params: {
    type: "array",
    maxItems: 1000,
    items: {},
    description: "Bound, never part of the statement: lists as arrays, objects as JSON",
  },
  max_rows: { type: "integer", minimum: 1, maximum: MAX_ROWS, description: `Default ${DEFAULT_ROWS}` },
  statement_timeout_seconds: {
    type: "integer",
    minimum: 1,
    maximum: 3600,
    description: `When the server gives up. Default ${DEFAULT_STATEMENT_SECONDS}`,
  },
} as const;
const OPTIONAL = ["params", "max_rows", "statement_timeout_seconds"];

const rows: JsonObject = {
  type: "object",
  properties: {
    columns: { type: "array", items: { type: "string" } },
    rows: {
      type: "array",
      items: { type: "object" },
      description: "Name to value; exact numbers and times are texts, bytes are base64",
    },
    row_count: { type: "integer", description: "Rows answered, or changed" },
    truncated: { type: "boolean", description: "Whether there are more rows than max_rows" },
  },
  required: ["columns", "rows", "row_count", "truncated"],
};

const query = defineAction({
  action_id: "query",
  name: "Query",
  description: "Reads by one SQL statement, in a transaction that cannot write",
  annotations: READS,
  input_schema: inputsOf(statement, OPTIONAL),
  output_schema: rows,
});

const execute = defineAction({
  action_id: "execute",
  name: "Execute",
  description: "Carries out one SQL statement that may write, where the connection has allow_writes",
  llm: "Carries out one SQL statement that may change or delete data: all of it or nothing. To read, use query.",
  annotations: { read_only: false, destructive: true, idempotent: false },
  input_schema: inputsOf(statement, OPTIONAL),
  output_schema: rows,
});

export const postgres: BuiltinProvider = {
  provider_id: "postgres",
  provider_version: "1",
  name: "PostgreSQL",
  description: "Queries of a PostgreSQL database: only reading, unless the connection allows writing",
  provider_group: ["databases"],
  tags: ["sql", "database"],
  icon: null,
  auth: {
    required: true,
    schemes: {
      basic: basic(
        {
          host: plain("The server"),
          port: { type: "integer", minimum: 1, maximum: 65_535, default: 5432 },
          database: plain("The database"),
          tls: {
            enum: ["verify", "require", "off"],
            default: "verify",
            description: "`require` encrypts without looking at the server's certificate",
          },
          ca: certificate("Of the server, where no public authority signed its certificate (PEM)"),
          allow_writes: { type: "boolean", default: false, description: "Whether actions may change data" },
        },
        ["ca"],
      ),
    },
  },
  source: "builtin",
  actions: [query, execute],
};

/** Throws ActionRefused where a connection is for reading only. */
export function requireWritable({ allow_writes }: Credential): void {
  if (allow_writes === true) return;
  throw new ActionRefused("inputs", "connection_id: the connection only reads (its allow_writes is false)");
}
