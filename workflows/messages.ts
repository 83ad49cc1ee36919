import { defineQuery, defineSignal } from "@temporalio/workflow";
import type { PauseResolution } from "../src/domain/runs/run.ts";

/** Asks a run to stop: running nodes are cancelled, no later node starts. */
export const cancelSignal = defineSignal<[{ reason: string | null }]>("cancel");

/** Brings the answer to a pause to the waiting workflow. It is repeated until it is taken; repetitions are ignored. */
export const resumeSignal = defineSignal<[{ pause_id: string; resolution: PauseResolution }]>("resume");

/** A child workflow tells its parent whether it only waits for people. */
export const childIdleSignal = defineSignal<[{ workflow_id: string; idle: boolean }]>("child_idle");

/** The progress of a run, for an operator at Temporal's UI. */
export const positionQuery = defineQuery<{ running: string[]; paused: string[]; settled: number }>("position");
