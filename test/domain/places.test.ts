import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createPlaces, NoPlace, type Wanted } from "../../src/domain/places.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A pool of slots, and the order in which callers got one. */
function open(size: number) {
  const places = createPlaces(size);
  const order: string[] = [];
  const releases = new Map<string, () => void>();
  const failures = new Map<string, unknown>();
  const settled = () => vi.advanceTimersByTimeAsync(0);
  return {
    places,
    order,
    failures,
    settled,
    /** The first letter of a name is the caller's key. */
    want(name: string, wanted?: Wanted): void {
      places.take(name.charAt(0), wanted).then(
        (release) => {
          order.push(name);
          releases.set(name, release);
        },
        (error: unknown) => failures.set(name, error),
      );
    },
    async release(name: string): Promise<void> {
      releases.get(name)?.();
      await settled();
    },
  };
}

describe("read-flood: slots that organisations share", () => {
  it("go to the lowest rank first, in turn between keys, and in order of arrival within a key", async () => {
    const { want, order, release, settled } = open(8);
    for (const name of ["a1", "a2", "a3", "a4", "b1", "b2"]) want(name);
    await settled();
    expect(order).toHaveLength(6);
    for (const name of ["a6", "a7", "b4"]) want(name, { rank: 1 });
    for (const name of ["a5", "b3"]) want(name);
    await settled();
    // Callers whose key has used its share keep waiting while slots are in use.
    expect(order).toHaveLength(6);
    for (const name of ["b1", "b2", "a1", "a2", "a3", "a4"]) await release(name);
    expect(order.slice(6)).toEqual(["b3", "b4", "a5", "a6", "a7"]);
  });

  it("rotate between keys if only one is free, however many of the first key wait", async () => {
    const { want, order, release, settled } = open(2);
    for (const name of ["h1", "a1", "a2", "a3", "b1"]) want(name);
    await settled();
    for (const name of ["a1", "a2", "b1"]) await release(name);
    expect(order).toEqual(["h1", "a1", "a2", "b1", "a3"]);
  });

  it("are not given to a key that rests, and are given to the others meanwhile", async () => {
    const { places, want, order, settled } = open(8);
    places.rest("a", 100);
    for (const name of ["a1", "b1"]) want(name);
    await settled();
    places.rest("a", 200);
    await vi.advanceTimersByTimeAsync(199);
    expect(order).toEqual(["b1"]);
    await vi.advanceTimersByTimeAsync(1);
    expect(order).toEqual(["b1", "a1"]);
  });

  it("stay available to another organisation, however many wait", async () => {
    const { want, order, settled, places } = open(10);
    for (let at = 0; at < 100; at += 1) want(`a${at}`);
    await settled();
    expect([order.length, places.waiting()]).toEqual([5, 95]);
    want("b0");
    await settled();
    expect(order.at(-1)).toBe("b0");
  });

  it("are refused immediately when the queue of a key and rank is full, and after the maximum wait", async () => {
    const { want, order, failures, settled, release } = open(2);
    want("a1");
    const wanted = { maxWaiting: 2, patienceMs: 1000 };
    for (const name of ["a2", "a3", "a4"]) want(name, wanted);
    want("a5", { ...wanted, rank: 1 });
    await settled();
    expect([...failures.keys()]).toEqual(["a4"]);
    await vi.advanceTimersByTimeAsync(999);
    await release("a1");
    expect(order).toEqual(["a1", "a2"]);
    await vi.advanceTimersByTimeAsync(1);
    expect([...failures.keys()]).toEqual(["a4", "a3", "a5"]);
    expect([...failures.values()].every((error) => error instanceof NoPlace)).toBe(true);
    await release("a2");
    want("a6", wanted);
    await settled();
    expect(order.at(-1)).toBe("a6");
  });

  it("skip a waiter that has given up, before or after it got one", async () => {
    const { want, order, failures, settled, release, places } = open(2);
    const [one, two] = [new AbortController(), new AbortController()];
    want("a1");
    want("a2", { signal: one.signal });
    want("a3", { signal: two.signal });
    want("a4");
    await settled();
    two.abort(new Error("cancelled"));
    await settled();
    expect(failures.get("a3")).toEqual(new Error("cancelled"));
    await release("a1");
    // Aborting after a caller got its slot changes nothing, and the next caller keeps waiting.
    one.abort();
    await settled();
    expect([order, places.waiting()]).toEqual([["a1", "a2"], 1]);
    await release("a2");
    expect([order.at(-1), places.inUse(), places.waiting()]).toEqual(["a4", 1, 0]);
  });
});
