import type { Logger } from "./logging/logger.ts";
import { within } from "./within.ts";

/** A part that takes longer counts as unavailable (ms). */
const MAX_WAIT_MS = 2000;

/** The parts that a process needs, by the name that is reported; each rejects if that part does not respond. */
export type ReadinessParts<Name extends string = string> = Readonly<Record<Name, () => Promise<void>>>;

/** Thrown by a part that responds but cannot be used. */
export class NotReady extends Error {
  /** Advice without secrets. */
  readonly advice: string;

  constructor(message: string, advice: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "NotReady";
    this.advice = advice;
  }
}

export interface Readiness<Name extends string> {
  readonly ready: boolean;
  /** What to do about a part that cannot be used. */
  readonly advice?: string;
  readonly parts: Readonly<Record<Name, "ok" | "unavailable">>;
}

/** Asks all parts in parallel whether they respond. */
export async function checkReadiness<Name extends string>(
  parts: ReadinessParts<Name>,
  logger: Logger,
): Promise<Readiness<Name>> {
  const asked = Object.entries<() => Promise<void>>(parts).map(async ([part, ask]) => {
    try {
      await within(MAX_WAIT_MS, ask());
      return { part, state: "ok" } as const;
    } catch (err) {
      logger.warn({ err, part }, "not ready");
      return { part, state: "unavailable", advice: err instanceof NotReady ? err.advice : undefined } as const;
    }
  });
  const answers = await Promise.all(asked);
  const advice = answers.map((answer) => ("advice" in answer ? answer.advice : undefined)).find((each) => each);
  return {
    ready: answers.every(({ state }) => state === "ok"),
    ...(advice === undefined ? {} : { advice }),
    parts: Object.fromEntries(answers.map(({ part, state }) => [part, state])) as Record<Name, "ok" | "unavailable">,
  };
}
