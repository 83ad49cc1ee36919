import { accountPurges } from "../accounts/purges.ts";
import { auditPurges } from "../audit/purges.ts";
import { evalPurges } from "../evals/purges.ts";
import { knowledgePurges } from "../knowledge/purges.ts";
import { modelPurges } from "../models/purges.ts";
import { pagePurges } from "../pages/purges.ts";
import { projectPurges } from "../projects/purges.ts";
import { providerPurges } from "../providers/purges.ts";
import { runPurges } from "../runs/purges.ts";
import { systemPurges } from "../system/purges.ts";
import { triggerPurges } from "../triggers/purges.ts";
import { webhookPurges } from "../webhooks/purges.ts";
import type { Purge, PurgeDeps } from "./purge.ts";

/** Every purge, in the order in which a round runs them. */
export const PURGES: readonly Purge[] = [
  ...systemPurges,
  ...accountPurges,
  ...webhookPurges,
  ...triggerPurges,
  ...evalPurges,
  ...projectPurges,
  ...providerPurges,
  ...modelPurges,
  ...runPurges,
  ...pagePurges,
  ...auditPurges,
  ...knowledgePurges,
];

/**
 * Runs a purge until a call removes less than a full batch, or the process stops. Returns how many it has removed; 0
 * for a name that only another version knows. `note` gets the number so far.
 */
export async function runPurge(deps: PurgeDeps, name: string, note: (removed: number) => void): Promise<number> {
  const found = PURGES.find((each) => each.name === name);
  if (found === undefined) return 0;
  let total = 0;
  for (let removed = found.batch; removed === found.batch && !deps.isClosed();) {
    removed = await found.purge(deps, found.batch);
    total += removed;
    note(total);
  }
  return total;
}
