import { fileURLToPath } from "node:url";
import { temporal } from "@temporalio/proto";
import type { Payload } from "@temporalio/common";
import { Client, Connection, IllegalStateError } from "@temporalio/client";
import { DefaultLogger, makeTelemetryFilterString, Runtime, Worker } from "@temporalio/worker";
import { runWorkflowId } from "../../src/temporal/ids.ts";
import { labelsOf } from "../../src/temporal/payloads.ts";
import { dataConverter } from "./payloads.ts";

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
    return await work(new Client({ connection, dataConverter }));
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

/** The same history with every payload in clear text. */
export async function decoded({ workflowId, history }: WorkflowHistory): Promise<WorkflowHistory> {
  // A copy: fromObject would hand back what is a History already.
  const clear = History.decode(History.encode(history).finish());
  await decodePayloads(clear);
  return { workflowId, history: clear };
}

async function decodePayloads(value: unknown): Promise<void> {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return;
  if ("metadata" in value && "data" in value) {
    const [clear] = (await dataConverter.payloadCodecs[0]?.decode([value as Payload])) ?? [];
    Object.assign(value, clear);
    return;
  }
  for (const each of Object.values(value)) await decodePayloads(each);
}

/** The places of a history where a payload, or the message of a failure, is in clear text; none of what the SDK notes itself. */
export function inClear({ workflowId, history }: WorkflowHistory): string[] {
  return (history.events ?? []).flatMap((event) => placesInClear(event, `${workflowId} #${String(event.eventId)}`));
}

/** What the SDK's core writes into markers: which activity it was, and which patches there are. */
const OF_THE_SDK = /\.markerRecordedEventAttributes\.details\.(data|patch-data)\./;

function placesInClear(value: unknown, place: string): string[] {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return [];
  if (place.endsWith(".searchAttributes") || OF_THE_SDK.test(place)) return [];
  if ("metadata" in value && "data" in value) return labelsOf(value as Payload) === null ? [place] : [];
  const { message, stackTrace, applicationFailureInfo, encodedAttributes } = value as Record<string, unknown>;
  const failure = applicationFailureInfo && (!encodedAttributes || stackTrace) ? [`${place}: ${String(message)}`] : [];
  const below = Object.entries(value).flatMap(([name, each]) => placesInClear(each, `${place}.${name}`));
  return [...failure, ...below];
}

/** Everything a history says, bytes too, as text to look for something in. */
export function textOf({ history }: WorkflowHistory): string {
  return textsIn(history).join("\n");
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (value instanceof Uint8Array) return [Buffer.from(value).toString()];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** The first argument that a workflow was started with. */
export async function inputOf(history: WorkflowHistory): Promise<Record<string, unknown>> {
  const [first] = (await decoded(history)).history.events ?? [];
  const [payload] = first?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  return JSON.parse(Buffer.from(payload?.data ?? []).toString()) as Record<string, unknown>;
}

/** Replays histories with the code of a bundle. Returns the failures by workflow id; empty when all replay. */
export async function replay(
  histories: readonly WorkflowHistory[],
  codePath = BUILT_BUNDLE,
): Promise<Record<string, string>> {
  quiet();
  const failures: Record<string, string> = {};
  const results = Worker.runReplayHistories({ workflowBundle: { codePath }, dataConverter }, histories);
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
