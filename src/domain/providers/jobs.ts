import { z } from "zod";
import type { AuditedRequest } from "../audit/audit.ts";
import type { ProblemCode } from "../errors.ts";
import type { Immutable, JsonObject } from "../json.ts";

/** The input of the workflow that checks a connection. */
export interface CheckInput {
  readonly org_id: string;
  readonly connection_id: string;
  /** The task queue of the workflow's activity. */
  readonly queue: string;
}

/** The input of the workflow of an action run. */
export interface ActionRunInput {
  readonly org_id: string;
  readonly action_run_id: string;
  readonly timeout_seconds: number;
  /** The task queue of the workflow's activity. */
  readonly queue: string;
}

export interface ImportOptions {
  readonly provider_id: string;
  /** Whether the caller chose the ID, so that an existing provider with this ID may be replaced. */
  readonly named: boolean;
  /** Whether nothing is written. */
  readonly dry_run: boolean;
  /** Whether the import may remove actions that published flows use. */
  readonly force: boolean;
  /** Whether an admin has approved the server's changed and new tools. */
  readonly accept_changes: boolean;
  /** Whether an admin trusts the server's statements about its tools' effects; null keeps the earlier decision, which is initially no. */
  readonly trust_annotations: boolean | null;
}

/** The input of the workflow that imports the tools of an MCP server. */
export interface ToolsImportInput extends ImportOptions {
  readonly org_id: string;
  /** Replaces the server's own name; null keeps that. */
  readonly name: string | null;
  readonly url: string;
  readonly connection_id: string | null;
  /** Whether the connection was created for this import, so that it is deleted if the import fails. */
  readonly new_connection: boolean;
  /** Absent if an older API process started the import, because that writes to the audit log itself. */
  readonly audited?: AuditedRequest;
  /** The task queue of the workflow's activity. */
  readonly queue: string;
}

/** The IDs of the actions that an import changes. */
const changedActions = {
  added: z.array(z.string()).describe("IDs of the new actions."),
  changed: z.array(z.string()),
  removed: z.array(z.string()),
};
export const importChangesSchema = z
  .object({ operations: z.int().describe("Number of actions the provider has now."), ...changedActions })
  .meta({ id: "ProviderImportChanges" });

/** The changes of an import to the existing provider: the response of a dry run. */
export const importPreviewSchema = z
  .object({
    ...changedActions,
    used_by: z
      .array(z.object({ project_id: z.uuid(), name: z.string(), action_ids: z.array(z.string()) }))
      .describe("Up to 100 published flows that use a changed or removed action."),
    differences: z
      .array(
        z.object({
          action_id: z.string(),
          members: z.array(z.string()).describe("Fields of the action that differ."),
          description: z.object({ before: z.string().nullable(), after: z.string().nullable() }),
        }),
      )
      .describe("Up to 50 changed actions; `description` is the text that models read."),
  })
  .meta({ id: "ProviderImportPreview" });
export type ImportPreview = Immutable<z.output<typeof importPreviewSchema>>;

/** The outcome of an import; `stored` is false for a dry run. */
export interface Imported extends ImportPreview {
  readonly stored: boolean;
  readonly created: boolean;
  /** Number of actions. */
  readonly operations: number;
}

/** The result for the caller that waits for the import of a server. Only that caller learns why it failed. */
export type ToolsImportResult =
  | { readonly ok: true; readonly imported: Imported }
  | { readonly ok: false; readonly loc: ReadonlyArray<string | number>; readonly message: string }
  /** The import conflicts with something that must not be undone without confirmation. */
  | {
      readonly ok: false;
      readonly problem: { readonly code: ProblemCode; readonly detail: string; readonly extra: JsonObject };
    };
