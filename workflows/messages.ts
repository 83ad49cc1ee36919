import { defineQuery, defineSignal } from "@temporalio/workflow";
import type { PauseResolution } from "../src/domain/runs/run.ts";

/** Stops a run: running nodes are cancelled, and no other node starts. */
export const cancelSignal = defineSignal<[{ reason: string | null }]>("cancel");

/** Delivers a pause's answer to the waiting workflow. It is sent until the workflow has received it; repetitions are ignored. */
export const resumeSignal = defineSignal<[{ pause_id: string; resolution: PauseResolution }]>("resume");

/** Tells a parent workflow whether its child waits only for people. */
export const childIdleSignal = defineSignal<[{ workflow_id: string; idle: boolean }]>("child_idle");

/** The progress of a run, for an operator in Temporal's UI. */
export const positionQuery = defineQuery<{ running: string[]; paused: string[]; settled: number }>("position");
