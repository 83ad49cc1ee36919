import type { Client } from "@temporalio/client";
import { describe, ignoreMissing, inTime } from "./calls.ts";
import { runWorkflowId } from "./ids.ts";
import { slicesOf } from "./trouble.ts";

/**
 * Kills the workflow of a run and its slices without letting them clean up. When a workflow ends, Temporal only asks its slices to cancel,
 * which a stuck slice cannot do.
 */
export async function terminateRun(client: Client, runId: string, reason: string): Promise<void> {
  const own = runWorkflowId(runId);
  const waiting = [own];
  const seen = new Set<string>();
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    if (seen.has(id)) continue;
    seen.add(id);
    const handle = client.workflow.getHandle(id);
    const before = await describe(client, id);
    await inTime(handle.terminate(reason)).catch(ignoreMissing);
    // The workflow may have started another slice meanwhile. Temporal also knows the open slices of a closed workflow.
    const after = await describe(client, id);
    for (const found of [before, after]) if (found) waiting.push(...slicesOf(found.raw, own));
  }
}
