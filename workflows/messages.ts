import { defineQuery, defineSignal } from "@temporalio/workflow";
import type { PauseResolution } from "../src/domain/runs/run.ts";

/** Asks a run to stop: running nodes are cancelled, no later node starts. */
export const cancelSignal = defineSignal<[{ reason: string | null }]>("cancel");

/** Tells the workflow that waits how a pause ended. Sent again until it is taken; the second is ignored. */
export const resumeSignal = defineSignal<[{ pause_id: string; resolution: PauseResolution }]>("resume");

/** A slice of a map or loop tells the run's workflow whether all that is left of it waits for pauses. */
export const sliceIdleSignal = defineSignal<[{ workflow_id: string; idle: boolean }]>("slice_idle");

/** Where a run stands, for an operator at Temporal's UI. */
export const positionQuery = defineQuery<{ running: string[]; paused: string[]; settled: number }>("position");
