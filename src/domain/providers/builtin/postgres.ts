import { objectSchema } from "../../json-schema.ts";
import { ActionRefused, inputsOf, READS } from "../action.ts";
import { basic, certificate, plain } from "../auth-fields.ts";
import type { Credential } from "../connection.ts";
import { defineProvider } from "../provider.ts";

/** Most rows that a statement may return. The output says whether there are more. */
const MAX_ROWS = 10_000;
export const DEFAULT_ROWS = 1000;
/** Default time limit of a statement on the server (s). */
export const DEFAULT_STATEMENT_SECONDS = 30;

const sql = {
  type: "string",
  minLength: 1,
  maxLength: 100_000,
  description: "One SQL statement; refer to the values in params as $1, $2",
};
const statement = inputsOf(
  { sql },
  {
    params: {
      type: "array",
      maxItems: 1000,
      items: {},
      description: "Values bound to the statement, never part of its text: lists as arrays, objects as JSON",
    },
    max_rows: { type: "integer", minimum: 1, maximum: MAX_ROWS, description: `Default ${DEFAULT_ROWS}` },
    statement_timeout_seconds: {
      type: "integer",
      minimum: 1,
      maximum: 3600,
      description: `Seconds after which the server cancels the statement. Default ${DEFAULT_STATEMENT_SECONDS}`,
    },
  },
);

const rows = objectSchema({
  columns: { type: "array", items: { type: "string" } },
  rows: {
    type: "array",
    items: { type: "object" },
    description: "Values by column name; exact numbers and times are text, bytes are base64",
  },
  row_count: { type: "integer", description: "Number of rows returned or changed" },
  truncated: { type: "boolean", description: "Whether there are more rows than max_rows" },
});

export const postgres = defineProvider({
  provider_id: "postgres",
  name: "PostgreSQL",
  description: "SQL queries to a PostgreSQL database; read-only unless the connection allows writes",
  provider_group: ["databases"],
  tags: ["sql", "database"],
  auth: {
    required: true,
    schemes: {
      basic: basic(
        {
          host: plain("Host name of the server"),
          port: { type: "integer", minimum: 1, maximum: 65_535, default: 5432 },
          database: plain("Name of the database"),
          tls: {
            enum: ["verify", "require", "off"],
            default: "verify",
            description: "`require` encrypts without verifying the server's certificate",
          },
          ca: certificate("CA certificate of the server (PEM), if no public authority signed its certificate"),
          allow_writes: { type: "boolean", default: false, description: "Whether actions can change data" },
        },
        ["ca"],
      ),
    },
  },
  actions: {
    query: {
      name: "Query",
      description: "Runs one SQL statement in a read-only transaction",
      annotations: READS,
      input_schema: statement,
      output_schema: rows,
    },
    execute: {
      name: "Execute",
      description: "Runs one SQL statement that can write; needs a connection with allow_writes",
      llm: "Executes one SQL statement that may change or delete data, completely or not at all. To read, use query.",
      annotations: { read_only: false, destructive: true, idempotent: false },
      input_schema: statement,
      output_schema: rows,
    },
  },
});

/** Throws ActionRefused if the connection is read-only. */
export function requireWritable({ allow_writes }: Credential): void {
  if (allow_writes === true) return;
  throw new ActionRefused("inputs", "connection_id: the connection is read-only (its allow_writes is false)");
}
