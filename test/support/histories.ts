import { fileURLToPath } from "node:url";
import { temporal } from "@temporalio/proto";
import { Client, Connection, IllegalStateError } from "@temporalio/client";
import { DefaultLogger, makeTelemetryFilterString, Runtime, Worker } from "@temporalio/worker";
import { runWorkflowId } from "../../src/temporal/ids.ts";

const { History } = temporal.api.history.v1;

/** The histories that Temporal keeps of one workflow. */
export interface WorkflowHistory {
  readonly workflowId: string;
  readonly history: temporal.api.history.v1.IHistory;
}

/** The same as plain JSON. */
export interface HistoryJson {
  readonly workflowId: string;
  readonly events: ReadonlyArray<Readonly<Record<string, unknown>>>;
}

// The SDK's own conversion asks for one copy of protobufjs in the whole tree; this one does not.
export function toJson({ workflowId, history }: WorkflowHistory): HistoryJson {
  const plain = History.toObject(History.fromObject(history), { longs: String, bytes: String, enums: String });
  return { workflowId, events: plain["events"] as HistoryJson["events"] };
}

export function fromJson({ workflowId, events }: HistoryJson): WorkflowHistory {
  return { workflowId, history: History.fromObject({ events }) };
}

/** The bundle that `npm run build` made, which is what workers run. */
const BUILT_BUNDLE = fileURLToPath(new URL("../../dist/workflow-bundle.js", import.meta.url));

/** Opens a client of the Temporal server at `address` for as long as `work` takes. */
export async function withTemporal<T>(address: string, work: (client: Client) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address });
  try {
    return await work(new Client({ connection }));
  } finally {
    await connection.close();
  }
}

/** The history of a run's workflow and of all that it has started, slices and sub-flows. */
export async function historiesOf(client: Client, runId: string): Promise<WorkflowHistory[]> {
  return historiesFrom(client, runWorkflowId(runId));
}

/** The history of a workflow and of all that it has started. */
export async function historiesFrom(client: Client, workflowId: string): Promise<WorkflowHistory[]> {
  const found: WorkflowHistory[] = [];
  const open = [workflowId];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    const history = await client.workflow.getHandle(id).fetchHistory();
    found.push({ workflowId: id, history });
    for (const { startChildWorkflowExecutionInitiatedEventAttributes: child } of history.events ?? [])
      if (child?.workflowId) open.push(child.workflowId);
  }
  return found;
}

/** Replays histories with the code of a bundle. Returns the failures by workflow id; empty when all replay. */
export async function replay(
  histories: readonly WorkflowHistory[],
  codePath = BUILT_BUNDLE,
): Promise<Record<string, string>> {
  quiet();
  const failures: Record<string, string> = {};
  const results = Worker.runReplayHistories({ workflowBundle: { codePath } }, histories);
  for await (const { workflowId, error } of results)
    if (error) failures[workflowId] = `${error.name}: ${error.message}`;
  return failures;
}

/** Without it the SDK prints each failure to standard error. Where the process has a runtime already, that one stays. */
function quiet(): void {
  const logging = { forward: {}, filter: makeTelemetryFilterString({ core: "ERROR" }) };
  try {
    Runtime.install({ logger: new DefaultLogger("ERROR", () => undefined), telemetryOptions: { logging } });
  } catch (error) {
    if (!(error instanceof IllegalStateError)) throw error;
  }
}
