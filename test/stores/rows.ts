import { uuidv7 } from "uuidv7";
import { afterAll, beforeAll } from "vitest";
import type { Database, Db } from "../../src/stores/db.ts";
import { insertRun, type NewRun } from "../../src/stores/runs/runs.ts";
import { recordRun } from "../../src/stores/runs/run-record.ts";
import { insertSubscription, type NewSubscription } from "../../src/stores/webhooks/subscriptions.ts";
import type { PauseOpening, Progress, RunState, RunUpdate } from "../../src/domain/runs/run.ts";
import { testDatabase } from "../support/database.ts";

/** A migrated database for one test file, dropped after its last test. */
export function ownDatabase(): { readonly database: Database } {
  let own: Awaited<ReturnType<typeof testDatabase>> | undefined;
  beforeAll(async () => {
    own = await testDatabase();
  });
  afterAll(() => own?.close());
  return {
    get database() {
      if (!own) throw new Error("the database is there from beforeAll on");
      return own.database;
    },
  };
}

const NO_PROGRESS: Progress = {
  total_nodes: 0,
  started_nodes: 0,
  completed_nodes: 0,
  skipped_nodes: 0,
  current_node: null,
};

export interface Tenant {
  readonly org_id: string;
  readonly project_id: string;
}

/** An organisation with one project. */
export async function buildTenant(database: Database): Promise<Tenant> {
  const org_id = uuidv7();
  await database.system((db) => db.query("insert into organisations (org_id, name) values ($1, 'test')", [org_id]));
  return { org_id, project_id: await buildProject(database, org_id) };
}

export async function buildProject(database: Database, orgId: string): Promise<string> {
  const project_id = uuidv7();
  await database.org(orgId, (db) =>
    db.query("insert into projects (project_id, org_id, name) values ($1, $2, 'test')", [project_id, orgId]),
  );
  return project_id;
}

/** A PENDING run; returns its ID. */
export async function buildRun(database: Database, tenant: Tenant, overrides: Partial<NewRun> = {}): Promise<string> {
  const run: NewRun = {
    run_id: uuidv7(),
    org_id: tenant.org_id,
    project_id: tenant.project_id,
    flow_version: 1,
    inputs: {},
    run_type: "api",
    ran_by_type: "system",
    ran_by_id: null,
    user_id: null,
    parent_run_id: null,
    resumed_from: null,
    metadata: {},
    tags: [],
    start_input: {},
    run_at: null,
    timeout_seconds: 60,
    total_nodes: 0,
    ...overrides,
  };
  await database.org(tenant.org_id, (db) => insertRun(db, run));
  return run.run_id;
}

/** A run in tables of an earlier version, which lack some of the current columns. */
export async function buildEarlierRun(database: Database, tenant: Tenant, run_id = uuidv7()): Promise<string> {
  await database.org(tenant.org_id, (db) =>
    db.query(
      `insert into runs (run_id, org_id, project_id, flow_version, inputs, run_type, ran_by_type, start_input, timeout_seconds,
          total_nodes) values ($1::uuid, $2::uuid, $3::uuid, 1, '{}', 'api', 'system', '{}', 60, 0)`,
      [run_id, tenant.org_id, tenant.project_id],
    ),
  );
  return run_id;
}

/** A write to a run's record as its workflow makes it. */
export function update(tenant: Tenant, runId: string, overrides: Partial<RunUpdate> = {}): RunUpdate {
  return {
    org_id: tenant.org_id,
    run_id: runId,
    temporal_run_id: "t-1",
    started_at: new Date().toISOString(),
    progress: NO_PROGRESS,
    nodes: [],
    ...overrides,
  };
}

/** A pause as its workflow opens it. */
export function pauseOpening(overrides: Partial<PauseOpening> = {}): PauseOpening {
  return {
    pause_id: uuidv7(),
    workflow_id: "w",
    node_id: "approval-0",
    path: "approval-0",
    kind: "approval",
    message: "?",
    data: null,
    form: null,
    actions: [{ id: "approve" }],
    required_approvals: 1,
    assignees: null,
    expires_at: null,
    on_timeout: "fail",
    ...overrides,
  };
}

/** Moves a run through these states, one write each. */
export async function moveRun(database: Database, tenant: Tenant, runId: string, ...states: RunState[]): Promise<void> {
  for (const state of states) {
    await database.org(tenant.org_id, (db) => recordRun(db, update(tenant, runId, { state }), []));
  }
}

/** A webhook for all events. */
export async function putSubscription(
  db: Db,
  org_id: string,
  subscription_id: string,
  overrides: Partial<NewSubscription> = {},
): Promise<void> {
  await insertSubscription(db, {
    subscription_id,
    org_id,
    url: "https://example.test/",
    events: ["*"],
    project_ids: null,
    description: "",
    secret: Buffer.from("sealed"),
    headers: null,
    header_names: [],
    created_by: uuidv7(),
    ...overrides,
  });
}
