/** Who waits for work: somebody who waits for its end, somebody who will look for it later, or a long job. */
export type Urgency = "awaited" | "later" | "batch";

/** The order of work in every queue: the smaller number goes first. */
export const PRIORITY_KEYS = { awaited: 1, later: 3, batch: 5 } as const satisfies Record<Urgency, number>;
