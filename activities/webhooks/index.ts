import { setTimeout as delay } from "node:timers/promises";
import { ApplicationFailure, Context } from "@temporalio/activity";
import type { Deliverer } from "../../src/services/webhooks/deliverer.ts";
import { whileBeating } from "../attempts.ts";
import type { WebhookActivities } from "./types.ts";

/** Time after which a process hands a shard back (ms), so that new workers get their share. */
const TENURE_MS = 600_000;

/**
 * The activity of a shard: while it runs, this process makes the shard's deliveries. `count`: the number of all
 * shards.
 */
export function createWebhookActivities(
  deliverer: Pick<Deliverer, "own" | "leaving">,
  count: number,
): WebhookActivities {
  return {
    async deliverShard({ shard }) {
      if (shard >= count) return { retired: true };
      const release = deliverer.own(shard);
      if (release === null)
        throw ApplicationFailure.create({
          message: "This worker is stopping: another worker continues the shard.",
          category: "BENIGN",
        });
      const over = new AbortController();
      try {
        const tenure = delay(TENURE_MS, undefined, { signal: over.signal }).catch(() => undefined);
        await whileBeating(() => Promise.race([deliverer.leaving, tenure, Context.current().cancelled]));
        return { retired: false };
      } finally {
        over.abort();
        release();
      }
    },
  };
}
