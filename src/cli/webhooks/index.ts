import { isUuid } from "../../domain/uuid.ts";
import { Option, type Command } from "@commander-js/extra-typings";
import { EVENT_TYPES, TEST_EVENT_TYPE, typesOfPattern } from "../../domain/webhooks/events.ts";
import { DELIVERY_STATUSES } from "../../domain/webhooks/webhook.ts";
import type { presentDelivery } from "../../api/webhooks/deliveries.ts";
import type { presentSubscription } from "../../api/webhooks/subscription-presenter.ts";
import { ApiRefusal, type ApiClient } from "../api-client.ts";
import { CommandFailure } from "../failure.ts";
import { addDelete, newest, showTable } from "../listing.ts";
import { apiCommand, openApi, show, type ApiOptions } from "../options.ts";
import { readId, readNumber, readPastTime, requireAddress } from "../values.ts";
import { startListener, type ReceivedDelivery } from "./webhook-listener.ts";
import { invocation } from "../shell.ts";
import { readable } from "../terminal.ts";

interface ListenOptions extends ApiOptions {
  readonly port: number;
  readonly events: readonly string[];
  readonly forward?: string;
}

type Subscription = ReturnType<typeof presentSubscription>;
type Delivery = ReturnType<typeof presentDelivery>;

const SUBSCRIPTIONS = "/v2/webhooks/subscriptions";
const SUBSCRIPTION = ["<subscription_id>", "webhook ID", readId("a webhook", "webhooks list")] as const;

/** `webhooks list|delete|deliveries|replay|listen`. */
export function addWebhookCommands(program: Command): void {
  const webhooks = program
    .command("webhooks")
    .description("manage webhooks, inspect deliveries, and receive events here");

  apiCommand(webhooks, "list", "list webhooks, newest first")
    .option("--failing", "only failing webhooks")
    .action(async (options) => {
      const { api } = openApi(options);
      const data = await newest<Subscription>(api, SUBSCRIPTIONS, options.failing === true ? { failing: "true" } : {});
      showTable(options.json, data, {
        WEBHOOK: ({ subscription_id }) => subscription_id,
        STATUS: ({ status, disabled_reason }) => withReason(status, disabled_reason),
        "LAST SUCCESS": ({ last_success_at }) => last_success_at ?? "never",
        "LAST FAILURE": ({ last_failure_at }) => last_failure_at ?? "never",
        EVENTS: ({ events }) => events.join(","),
        URL: ({ url }) => url,
      });
    });

  addDelete(webhooks, "a webhook", SUBSCRIPTIONS);

  apiCommand(webhooks, "deliveries", "list the deliveries of a webhook, newest first")
    .argument(...SUBSCRIPTION)
    .addOption(new Option("--status <status>", "only deliveries with this status").choices(DELIVERY_STATUSES))
    .option("--event <type|evt_id>", "only deliveries of this event type, or of this event", parseEvent)
    .option(
      "--since <time>",
      "only deliveries created since then: RFC 3339, or how long ago (30m, 12h, 7d)",
      readPastTime,
    )
    .option("--limit <n>", "number of deliveries, up to 200", readNumber(1, 200), 20)
    .action(async (subscription, options) => {
      const { api } = openApi(options);
      const { status, event, since, limit } = options;
      const page = await api.get<{ data: Delivery[] }>(`${SUBSCRIPTIONS}/${subscription}/deliveries`, {
        status,
        event,
        since,
        page_size: limit,
      });
      showTable(options.json, page.data, {
        DELIVERY: ({ delivery_id }) => delivery_id,
        EVENT: ({ event_type }) => event_type,
        STATUS: (each) => withReason(each.status, each.failure_reason),
        ATTEMPTS: ({ attempts }) => String(attempts),
        CREATED: ({ created_at }) => created_at,
        "LAST RESPONSE": ({ last_status_code, last_error }) => String(last_status_code ?? last_error ?? ""),
        "NEXT ATTEMPT": ({ next_attempt_at }) => next_attempt_at ?? "",
      });
    });

  apiCommand(webhooks, "replay", "replay events to a webhook")
    .argument(...SUBSCRIPTION)
    .requiredOption("--since <time>", "events since then: RFC 3339, or how long ago (30m, 12h, 7d)", readPastTime)
    .option("--until <time>", "events before then (default: now)", readPastTime)
    .option("--events <patterns>", "only these event types, separated by commas", parsePatterns)
    .option("--only-failed", "undelivered events only")
    .action(async (subscription, options) => {
      const { since, until, events, onlyFailed } = options;
      if (until !== undefined && until <= since) throw new CommandFailure("--until must be later than --since.", 2);
      const { api } = openApi(options);
      const replay = await api.post<{ replay_id: string; since: string; until: string }>(
        `${SUBSCRIPTIONS}/${subscription}/replay`,
        { since, until, events, only_failed: onlyFailed },
      );
      show(options.json, replay, () => [
        `replay ${replay.replay_id}: events from ${replay.since} to ${replay.until}`,
        `${invocation()} webhooks deliveries ${subscription}   # the results`,
      ]);
    });

  apiCommand(webhooks, "listen", "receive events in this terminal: prints and verifies deliveries until Ctrl-C")
    .option("--port <n>", "port of 127.0.0.1 (default: a free port)", readNumber(0, 65535), 0)
    .option("--events <patterns>", "only these event types, separated by commas", parsePatterns, ["*"])
    .option("--forward <url>", "forward verified deliveries to this URL, and return its response", readForward)
    .action(listen);
}

async function listen(options: ListenOptions): Promise<void> {
  const { api } = openApi(options);
  // Signals are handled from here on, so that a subscription that is just being created is deleted, too. A second Ctrl-C ends the process
  // immediately.
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => resolve());
    // Standard output was closed, as by `| head`. Other commands just end then, but here the subscription has to be deleted.
    process.stdout.removeAllListeners("error").on("error", () => resolve());
  });
  let tellSecret: (secret: string) => void = () => undefined;
  const secret = new Promise<string>((resolve) => {
    tellSecret = resolve;
  });
  const print = (delivery: ReceivedDelivery): void =>
    console.log(options.json === true ? JSON.stringify(delivery) : readable(describeDelivery(delivery)));
  const { port, forward } = options;
  const listener = await startListener({ port, secret, forward, onDelivery: print });
  try {
    const made = await subscribe(api, listener.url, options.events);
    tellSecret(made.secret);
    console.error(`${listener.url} receives ${options.events.join(", ")} as webhook ${made.subscription_id}.`);
    console.error(
      `Ctrl-C deletes the webhook. ${forward === undefined ? "" : `Verified deliveries are forwarded to ${forward}.`}`.trim(),
    );
    await stopped;
    await unsubscribe(api, made.subscription_id);
  } finally {
    await listener.close();
  }
}

async function subscribe(
  api: ApiClient,
  url: string,
  events: readonly string[],
): Promise<{ subscription_id: string; secret: string }> {
  try {
    return await api.post(SUBSCRIPTIONS, { url, events, description: "millrace webhooks listen" });
  } catch (error) {
    if (!(error instanceof ApiRefusal) || !isAbout(error, "url")) throw error;
    throw new CommandFailure(
      `${error.message}\nThis server cannot send to private addresses such as ${url}. Set MILLRACE_PRIVATE_HOSTS=loopback ` +
        "for its api and worker (npm start does), or use a URL that it can reach.",
      1,
      { cause: error },
    );
  }
}

async function unsubscribe(api: ApiClient, subscriptionId: string): Promise<void> {
  try {
    await api.delete(`${SUBSCRIPTIONS}/${subscriptionId}`);
  } catch (error) {
    // Someone else has deleted the subscription.
    if (error instanceof ApiRefusal && error.status === 404) return;
    throw new CommandFailure(
      `${error instanceof Error ? error.message : String(error)}\nThe webhook ${subscriptionId} still exists.`,
      1,
      { cause: error },
    );
  }
  console.error(`\nWebhook ${subscriptionId} deleted.`);
}

/** Whether a 422 names this field of the body. */
function isAbout({ status, body }: ApiRefusal, member: string): boolean {
  if (status !== 422 || typeof body !== "object" || body === null) return false;
  const { detail } = body as { detail?: unknown };
  return Array.isArray(detail) && (detail as { loc?: unknown[] }[]).some(({ loc }) => loc?.[1] === member);
}

function describeDelivery({ received_at, verified, problem, status, headers, body }: ReceivedDelivery): string {
  const time = received_at.slice(11, 23);
  // Nothing of an unverified request is printed, because anyone may have sent it.
  if (!verified) return `${time} ✗ ${status} not verified: ${problem ?? ""}`;
  const { type, data } = body as { type: string; data: { run_id?: unknown } };
  const run = typeof data.run_id === "string" ? ` run ${data.run_id}` : "";
  return `${time} ✓ ${status} ${type} ${headers["webhook-id"] ?? ""}${run}${problem === null ? "" : `: ${problem}`}`;
}

function withReason(status: string, reason: string | null): string {
  return reason === null ? status : `${status} (${reason})`;
}

function parseEvent(text: string): string {
  if (text === TEST_EVENT_TYPE || EVENT_TYPES.some((type) => type === text)) return text;
  if (text.startsWith("evt_") && isUuid(text.slice(4))) return text;
  throw new CommandFailure(`${text} is neither an event ID (evt_...) nor an event type. ${types()}`, 2);
}

function parsePatterns(text: string): string[] {
  const patterns = text.split(",").map((each) => each.trim());
  const wrong = patterns.find((pattern) => typesOfPattern(pattern).length === 0);
  if (wrong !== undefined) throw new CommandFailure(`Unknown event type ${wrong || "(empty)"}. ${types()}`, 2);
  return patterns;
}

const types = (): string => `The event types are ${EVENT_TYPES.join(", ")}; write prefix.* for several and * for all.`;

function readForward(text: string): string {
  return requireAddress(text, "--forward", "http://127.0.0.1:3000/webhooks");
}
