import type { Client } from "@temporalio/client";
import { inTime } from "./calls.ts";
import { runWorkflowId } from "./ids.ts";
import { describe, ignoreMissing, slicesOf } from "./trouble.ts";

/**
 * Kills the workflow of a run and its slices without letting them clean up. Temporal asks the slices of one that is gone to
 * cancel themselves, and one that does not get on cannot.
 */
export async function terminateRun(client: Client, runId: string, reason: string): Promise<void> {
  const own = runWorkflowId(runId);
  const waiting = [own];
  const seen = new Set<string>();
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    if (seen.has(id)) continue;
    seen.add(id);
    const handle = client.workflow.getHandle(id);
    const before = await describe(client, id).catch(ignoreMissing);
    await inTime(handle.terminate(reason)).catch(ignoreMissing);
    // It may have started another one meanwhile. Temporal knows the open slices of a closed workflow, too.
    const after = await describe(client, id).catch(ignoreMissing);
    for (const found of [before, after]) if (found) waiting.push(...slicesOf(found.raw, own));
  }
}
