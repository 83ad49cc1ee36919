/** What the workflow that checks a connection is started with. */
export interface CheckInput {
  readonly org_id: string;
  readonly connection_id: string;
  /** The task queue of its activity. */
  readonly queue: string;
}
