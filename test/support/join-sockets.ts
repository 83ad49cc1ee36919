import type { Duplex } from "node:stream";

/** Forwards all bytes between two sockets; when one ends, the other ends as well. */
export function joinSockets(one: Duplex, other: Duplex): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on("error", () => to.destroy()).on("close", () => to.destroy());
    from.pipe(to);
  }
}
