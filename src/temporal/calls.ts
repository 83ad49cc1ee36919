import {
  ScheduleNotFoundError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  type Client,
  type WorkflowStartOptions,
} from "@temporalio/client";
import type * as workflows from "../../workflows/index.ts";

/** How long Temporal may take to respond to a call (ms). The SDK's own limit of 10 s is too long for a request that waits for it. */
const ANSWER_MS = 3000;

/** Thrown if Temporal has not responded in time; the call may still take effect. */
class TemporalSilent extends Error {
  /** The code of gRPC's UNAVAILABLE. */
  readonly code = 14;

  constructor() {
    super(`Temporal did not respond within ${ANSWER_MS} ms`);
    this.name = "TemporalSilent";
  }
}

/**
 * Waits for a call, but at most ANSWER_MS, and then rejects with an error of gRPC's UNAVAILABLE. The call itself continues for up to 10 s:
 * a NativeConnection applies a deadline to each attempt but not to its retries, and ignores an abort signal.
 */
export async function inTime<T>(call: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TemporalSilent()), ANSWER_MS);
  });
  try {
    return await Promise.race([call, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The workflows by the names of their types. */
type Workflows = typeof workflows;

/**
 * Starts a workflow unless it is running. By default it replaces a closed workflow that left its row unfinished (because someone terminated
 * it, for example) or whose history has been deleted.
 */
export async function startUnlessRunning<Type extends keyof Workflows>(
  client: Client,
  type: Type,
  options: WorkflowStartOptions<Workflows[Type]>,
): Promise<void> {
  const policies = { workflowIdReusePolicy: "ALLOW_DUPLICATE", workflowIdConflictPolicy: "FAIL" } as const;
  try {
    await inTime(client.workflow.start<Workflows[Type]>(type, { ...policies, ...options }));
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

/** Temporal's view of a workflow. */
export type WorkflowView = "running" | (typeof CLOSED)[number] | "not_found";

const CLOSED = ["completed", "failed", "cancelled", "terminated", "timed_out"] as const;

/** The view for a status of Temporal's. */
export function statusOf(name: string): WorkflowView {
  return CLOSED.find((each) => each.toUpperCase() === name) ?? "running";
}

export type Described = Awaited<ReturnType<ReturnType<Client["workflow"]["getHandle"]>["describe"]>>;

/** A workflow's latest execution; undefined if there is none. */
export async function describe(client: Client, workflowId: string): Promise<Described | undefined> {
  return await inTime(client.workflow.getHandle(workflowId).describe()).catch(ignoreMissing);
}

/** The state of a workflow's latest execution. */
export async function lookAt(client: Client, workflowId: string): Promise<WorkflowView> {
  const described = await describe(client, workflowId);
  return described ? statusOf(described.status.name) : "not_found";
}

/** The code of gRPC's NOT_FOUND, which the client does not translate everywhere. */
const NOT_FOUND = 5;

/** Ignores the error of a call about a workflow, a schedule or a deployment that does not exist. */
export function ignoreMissing(error: unknown): undefined {
  const isMissing = error instanceof WorkflowNotFoundError || error instanceof ScheduleNotFoundError;
  if (!isMissing && (error as { readonly code?: unknown }).code !== NOT_FOUND) throw error;
  return undefined;
}
