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
