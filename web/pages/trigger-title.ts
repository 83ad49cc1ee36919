import type { Schemas } from "../api/client.ts";

type Trigger = Pick<Schemas["ProjectTrigger"], "kind" | "provider_id" | "trigger_id" | "config">;

const KINDS: Readonly<Record<Trigger["kind"], string>> = {
  webhook: "Inbound webhook",
  schedule: "Schedule",
  poll: "Poll",
  run_event: "After another run",
};

/** What a trigger waits for: `Schedule: 0 9 * * 1`. */
export function titleOfTrigger({ kind, provider_id, trigger_id, config }: Trigger): string {
  const cron = config["cron"];
  if (typeof cron === "string") return `${KINDS[kind]}: ${cron}`;
  return provider_id === "millrace" ? KINDS[kind] : `${KINDS[kind]}: ${provider_id} ${trigger_id}`;
}
