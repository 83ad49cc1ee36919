import type { Json } from "../../src/domain/json.ts";
import { asText } from "../../src/domain/providers/action.ts";
import {
  DEFAULT_ROWS,
  DEFAULT_STATEMENT_SECONDS,
  requireWritable,
} from "../../src/domain/providers/builtin/postgres.ts";
import type { Parts } from "../../src/services/parts.ts";
import { rowsAsObjects, runRemoteSql } from "../../src/services/providers/remote-postgres.ts";
import { renderedCall, requireConnection, type ActionExecutor } from "./action-call.ts";

/** Carries out the actions of provider `postgres`: each is one statement in its own transaction. */
export function createPostgresActions({ sockets }: Parts<"sockets">): ActionExecutor {
  return async (call) => {
    const { action, inputs, dry_run, signal, begin } = call;
    const connection = requireConnection(call);
    const writes = action.action_id === "execute";
    if (writes) requireWritable(connection.credential);
    const statement = {
      sql: asText(inputs["sql"]),
      params: (inputs["params"] ?? []) as readonly Json[],
      maxRows: Number(inputs["max_rows"] ?? DEFAULT_ROWS),
      statementMs: Number(inputs["statement_timeout_seconds"] ?? DEFAULT_STATEMENT_SECONDS) * 1000,
    };
    const rendered_request = renderedCall(connection, {
      transaction: writes ? "read write" : "read only",
      sql: statement.sql,
      params: statement.params,
      max_rows: statement.maxRows,
      statement_timeout_seconds: statement.statementMs / 1000,
    });
    if (dry_run) return { outputs: null, rendered_request };
    const answer = await runRemoteSql(sockets, connection, statement, { writes, signal, begin });
    const outputs = {
      columns: answer.columns,
      rows: rowsAsObjects(answer),
      row_count: answer.changed ?? answer.rows.length,
      truncated: answer.truncated,
    };
    return { outputs, rendered_request };
  };
}
