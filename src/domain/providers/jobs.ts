/** What the workflow that checks a connection is started with. */
export interface CheckInput {
  readonly org_id: string;
  readonly connection_id: string;
  /** The task queue of its activity. */
  readonly queue: string;
}

/** What the workflow of a run of an action is started with. */
export interface ActionRunInput {
  readonly org_id: string;
  readonly action_run_id: string;
  readonly timeout_seconds: number;
  /** The task queue of its activity. */
  readonly queue: string;
}

/** What the workflow that imports the tools of an MCP server is started with. */
export interface ToolsImportInput {
  readonly org_id: string;
  readonly provider_id: string;
  /** In place of the server's own. */
  readonly name: string | null;
  readonly url: string;
  readonly connection_id: string | null;
  /** The connection was made for this import: it goes where the import fails. */
  readonly new_connection: boolean;
  /** The task queue of its activity. */
  readonly queue: string;
}

/** What became of it. Nobody but who asked is told why it failed. */
export type ToolsImportResult =
  | {
      readonly ok: true;
      readonly created: boolean;
      readonly operations: number;
      readonly changes: {
        readonly added: readonly string[];
        readonly changed: readonly string[];
        readonly removed: readonly string[];
      };
    }
  | { readonly ok: false; readonly loc: ReadonlyArray<string | number>; readonly message: string };
