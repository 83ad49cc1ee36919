import { fileURLToPath } from "node:url";
import { temporal } from "@temporalio/proto";
import type { Payload } from "@temporalio/common";
import { Client, Connection, IllegalStateError } from "@temporalio/client";
import { DefaultLogger, makeTelemetryFilterString, Runtime, Worker } from "@temporalio/worker";
import { runWorkflowId } from "../../src/temporal/ids.ts";
import { labelsOf } from "../../src/temporal/payloads.ts";
import { dataConverter } from "./payloads.ts";

const { History } = temporal.api.history.v1;

/** The Temporal histories of one workflow. */
export interface WorkflowHistory {
  readonly workflowId: string;
  readonly history: temporal.api.history.v1.IHistory;
}

/** The same as plain JSON. */
export interface HistoryJson {
  readonly workflowId: string;
  readonly events: ReadonlyArray<Readonly<Record<string, unknown>>>;
}

// The SDK's own conversion requires a single copy of protobufjs in the whole tree; this one does not.
export function toJson({ workflowId, history }: WorkflowHistory): HistoryJson {
  const plain = History.toObject(History.fromObject(history), { longs: String, bytes: String, enums: String });
  return { workflowId, events: plain["events"] as HistoryJson["events"] };
}

export function fromJson({ workflowId, events }: HistoryJson): WorkflowHistory {
  return { workflowId, history: History.fromObject({ events }) };
}

/** The bundle from `npm run build`, which workers execute. */
const BUILT_BUNDLE = fileURLToPath(new URL("../../dist/workflow-bundle.js", import.meta.url));

/** Opens a client of the Temporal server at `address` while `work` runs. */
export async function withTemporal<T>(address: string, work: (client: Client) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address });
  try {
    return await work(new Client({ connection, dataConverter }));
  } finally {
    await connection.close();
  }
}

/** The histories of a run's workflow and of everything it started: slices and child runs. */
export async function historiesOf(client: Client, runId: string): Promise<WorkflowHistory[]> {
  return historiesFrom(client, runWorkflowId(runId));
}

/** The same for a run that has ended. Its record says so a moment before Temporal has the last events. */
export async function historiesOfEnded(client: Client, runId: string): Promise<WorkflowHistory[]> {
  await client.workflow
    .getHandle(runWorkflowId(runId))
    .result()
    .catch(() => undefined);
  return historiesOf(client, runId);
}

/** The histories of a workflow and of everything it started. */
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

/** The same history with every payload decrypted. */
export async function decoded({ workflowId, history }: WorkflowHistory): Promise<WorkflowHistory> {
  // A copy, because fromObject returns its argument if it already is a History.
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

/** The paths in a history of plaintext payloads or failure messages, except the ones that the SDK writes itself. */
export function inClear({ workflowId, history }: WorkflowHistory): string[] {
  return (history.events ?? []).flatMap((event) => placesInClear(event, `${workflowId} #${String(event.eventId)}`));
}

/** What the SDK's core writes into markers: the activity, and the patches. */
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

/** Everything in a history as text, including bytes, for searching. */
export function textOf({ history }: WorkflowHistory): string {
  return textsIn(history).join("\n");
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (value instanceof Uint8Array) return [Buffer.from(value).toString()];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** The first argument of a workflow. */
export async function inputOf(history: WorkflowHistory): Promise<Record<string, unknown>> {
  const [first] = (await decoded(history)).history.events ?? [];
  const [payload] = first?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  return JSON.parse(Buffer.from(payload?.data ?? []).toString()) as Record<string, unknown>;
}

/** Replays histories with the code of a bundle. Returns the failures by workflow ID; empty if all replays succeed. */
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

/** Otherwise the SDK prints each failure to standard error. A runtime that the process already has stays. */
function quiet(): void {
  const logging = { forward: {}, filter: makeTelemetryFilterString({ core: "ERROR" }) };
  try {
    Runtime.install({ logger: new DefaultLogger("ERROR", () => undefined), telemetryOptions: { logging } });
  } catch (error) {
    if (!(error instanceof IllegalStateError)) throw error;
  }
}
