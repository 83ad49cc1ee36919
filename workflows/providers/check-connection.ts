import { providerActivities } from "../activities.ts";
import type { CheckInput } from "../../src/domain/providers/jobs.ts";

/** The check's requests have shorter limits. */
const CHECK_TIMEOUT_MS = 60_000;

/** Checks a connection's credential, and records the result in the connection's row. */
export async function checkConnection(input: CheckInput): Promise<void> {
  await providerActivities(input.queue, CHECK_TIMEOUT_MS).checkConnection(input);
}
