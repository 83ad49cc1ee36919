import { uuidv7 } from "uuidv7";
import { afterEach, expect, it } from "vitest";
import type { StartInputs, WorkflowStarts } from "../../../src/domain/starts.ts";
import { startStarter } from "../../../src/services/starts/starter.ts";
import { finishActionRun, insertActionRun } from "../../../src/stores/providers/action-runs.ts";
import { wantStarts } from "../../../src/stores/starts/workflow-starts.ts";
import { eventually } from "../../support/scratch.ts";
import { buildTenant, ownDatabase } from "../../stores/rows.ts";

const own = ownDatabase();

type Run = StartInputs["action_run"];
interface Waiting {
  readonly input: Run;
  readonly attempts: number;
  readonly last_error: string | null;
  readonly later: boolean;
}
const waiting = (): Promise<Waiting[]> =>
  own.database.system((db) =>
    db.query<Waiting>(
      "select input, attempts, last_error, due_at > now() + interval '5 seconds' as later from workflow_starts",
    ),
  );
const want = (...inputs: Run[]): Promise<void> =>
  own.database.orgTransaction(inputs[0]?.org_id ?? "", (db) => wantStarts(db, "action_run", inputs));

let starter: ReturnType<typeof startStarter> | undefined;
/** Starts what `action_run` accepts. With this interval, only a notification starts a round. */
function startWith(action_run: WorkflowStarts["action_run"], errors: unknown[] = []): void {
  starter = startStarter({
    db: own.database,
    starts: { action_run } as WorkflowStarts,
    lookMs: 600_000,
    onError: (error) => errors.push(error),
  });
}
afterEach(async () => {
  await starter?.close();
  await own.database.system((db) => db.query("delete from workflow_starts"));
});

async function unfinishedRun(): Promise<Run> {
  const { org_id } = await buildTenant(own.database);
  const run = { org_id, action_run_id: uuidv7(), timeout_seconds: 1 };
  const of = { provider_id: "millrace", action_id: "run_flow", connection_id: null, dry_run: false, inputs: { v: {} } };
  await own.database.org(org_id, (db) => insertActionRun(db, { ...run, ...of, created_by: uuidv7() }));
  return run;
}

it("starts what a transaction wants once it is committed, and keeps a start that fails, for later", async () => {
  const [accepted, refused, undone] = await Promise.all([unfinishedRun(), unfinishedRun(), unfinishedRun()]);
  const started: Run[] = [];
  const errors: unknown[] = [];
  startWith(async (input) => {
    if (input.action_run_id === refused.action_run_id) throw new Error("no such task queue");
    started.push(input);
  }, errors);
  await own.database
    .orgTransaction(undone.org_id, async (db) => {
      await wantStarts(db, "action_run", [undone]);
      throw new Error("undone");
    })
    .catch(() => undefined);
  await want(refused);
  await want(accepted);
  const left = await eventually("one start waits", async () => {
    const rows = await waiting();
    return rows.length === 1 && rows[0]?.last_error !== null && rows;
  });
  expect(started).toEqual([accepted]);
  expect(left).toEqual([{ input: refused, attempts: 1, last_error: "Error: no such task queue", later: true }]);
  expect(errors.map(String)).toEqual(["Error: no such task queue"]);
});

it("keeps what is wanted while an earlier start of the same work is being accepted", async () => {
  const first = await unfinishedRun();
  const [between, last] = [2, 3].map((timeout_seconds) => ({ ...first, timeout_seconds }));
  const started: number[] = [];
  startWith(async (input) => {
    started.push(input.timeout_seconds);
    if (input.timeout_seconds === 1) await want(between ?? first, last ?? first);
  });
  await want(first);
  await eventually("both are started", async () => started.length === 2 && (await waiting()).length === 0);
  expect(started).toEqual([1, 3]);
});

it("forgets what has finished since it was wanted", async () => {
  const finished = await unfinishedRun();
  const end = { outputs: null, error: null, rendered_request: null, latency_ms: 1 };
  await own.database.orgTransaction(finished.org_id, async (db) => {
    await wantStarts(db, "action_run", [finished]);
    await finishActionRun(db, finished.action_run_id, end);
  });
  const started: Run[] = [];
  startWith(async (input) => void started.push(input));
  await eventually("none waits", async () => (await waiting()).length === 0);
  expect(started).toEqual([]);
});
