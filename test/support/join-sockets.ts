import type { Duplex } from "node:stream";

/** What one gets, the other sends, and with one the other ends. */
export function joinSockets(one: Duplex, other: Duplex): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on("error", () => to.destroy()).on("close", () => to.destroy());
    from.pipe(to);
  }
}
