import { providerActivities } from "../activities.ts";
import type { CheckInput } from "../../src/domain/providers/jobs.ts";

/** The check's requests have shorter limits of their own. */
const CHECK_TIMEOUT_MS = 60_000;

/** Tries a connection's credential. The result is in the connection's row. */
export async function checkConnection(input: CheckInput): Promise<void> {
  await providerActivities(input.queue, CHECK_TIMEOUT_MS).checkConnection(input);
}
