import { createWebhookActivities } from "../../activities/webhooks/index.ts";
import { createSendDelivery } from "../services/webhooks/send.ts";
import { startWebhooks } from "../services/webhooks/start-webhooks.ts";
import { createShardStarter } from "../temporal/deliveries.ts";
import { VERSION } from "../version.ts";
import type { ServiceProcess } from "./open-process.ts";

/** Starts the delivery of events in this process. */
export function openWebhooks(
  { config, db, secrets, guardedFetch, metrics, logger, shutdown, temporal, traces }: ServiceProcess,
  onRelayed: () => void,
) {
  const timeoutMs = config.MILLRACE_WEBHOOK_TIMEOUT_MS;
  const webhooks = startWebhooks({
    db,
    send: createSendDelivery({
      guardedFetch,
      box: secrets,
      timeoutMs,
      publicUrl: config.MILLRACE_PUBLIC_URL ?? "",
      version: VERSION,
      within: traces.within,
      onFault: (err, { delivery_id }) =>
        logger.error({ err, delivery_id }, "delivery failed because of an internal error"),
    }),
    onRelayed,
    startShard: createShardStarter(temporal.client, config.MILLRACE_TASK_QUEUE),
    shards: config.MILLRACE_WEBHOOK_SHARDS,
    schedule: config.MILLRACE_WEBHOOK_SCHEDULE_MS,
    timeoutMs,
    disableAfterMs: config.MILLRACE_WEBHOOK_DISABLE_AFTER_MS,
    disableAttempts: config.MILLRACE_WEBHOOK_DISABLE_ATTEMPTS,
    pollMs: config.MILLRACE_WEBHOOK_POLL_MS,
    // Rarely, because a delivery workflow only ends if someone terminates it.
    ensureMs: 12 * config.MILLRACE_SWEEP_INTERVAL_MS,
    totalSlots: config.MILLRACE_WEBHOOK_SLOTS,
    slotsPerSubscription: config.MILLRACE_WEBHOOK_CONCURRENCY,
    onAttempt(job, result) {
      metrics.deliveryAttempted(result.ok ? "delivered" : (result.error_code ?? "failed"));
      if (result.ok) metrics.delivered((Date.now() - Date.parse(job.event.occurred_at)) / 1000);
    },
    onError: (err, job) => logger.warn({ err, delivery_id: job?.delivery_id }, "webhooks"),
  });
  metrics.gauge("webhook_deliveries_under_way", "Webhook deliveries in flight in this process", webhooks.inUse);
  shutdown.add("webhooks", () => webhooks.close(config.MILLRACE_SHUTDOWN_GRACE_MS));
  const { deliverer } = webhooks;
  return { deliverer, activities: { webhooks: createWebhookActivities(deliverer, config.MILLRACE_WEBHOOK_SHARDS) } };
}
