/** How soon someone needs the result of work: a caller waits for it, it will be looked at later, or it belongs to a long job. */
export type Urgency = "awaited" | "later" | "batch";

/** The priority of work in every queue; a smaller number is served first. */
export const PRIORITY_KEYS = { awaited: 1, later: 3, batch: 5 } as const satisfies Record<Urgency, number>;
