import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { createGuardedFetch } from "../../src/platform/fetch/guarded-fetch.ts";
import { holdAnswer, holdingAnswers } from "../../src/platform/fetch/held-answers.ts";

const releases: Array<() => void> = [];
afterEach(() => {
  for (const release of releases.splice(0)) release();
});

/** Work that reads a long response and keeps it until the test ends or `release` is called. */
function hold(key: string, signal?: AbortSignal): { held(): boolean; release(): void; ended: Promise<void> } {
  let release = (): void => undefined;
  const gate = new Promise<void>((resolve) => (release = resolve));
  releases.push(release);
  let held = false;
  const ended = holdingAnswers(key, async () => {
    await holdAnswer(signal);
    held = true;
    await gate;
  });
  return { held: () => held, release, ended };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("noisy-neighbour: long responses that a process holds in memory", () => {
  it("are limited per organisation, and do not delay other organisations", async () => {
    const noisy = Array.from({ length: 8 }, () => hold("noisy"));
    const quiet = hold("quiet");
    await settled();
    expect(noisy.map(({ held }) => held())).toEqual([true, true, true, false, false, false, false, false]);
    expect(quiet.held()).toBe(true);
    noisy[0]?.release();
    await noisy[0]?.ended;
    await settled();
    expect(noisy.filter(({ held }) => held())).toHaveLength(4);
    for (const each of noisy) {
      each.release();
      await each.ended;
    }
    expect(noisy.every(({ held }) => held())).toBe(true);
  });

  it("stop waiting if their work is cancelled", async () => {
    const noisy = Array.from({ length: 3 }, () => hold("noisy"));
    await settled();
    const stop = new AbortController();
    const waiting = holdingAnswers("noisy", () => holdAnswer(stop.signal));
    stop.abort(new Error("cancelled"));
    await expect(waiting).rejects.toThrow("cancelled");
    for (const each of noisy) {
      each.release();
      await each.ended;
    }
    const again = Array.from({ length: 3 }, () => hold("noisy"));
    await settled();
    expect(again.every(({ held }) => held())).toBe(true);
  });

  it("go to the next caller that still waits, even if an earlier one has stopped waiting", async () => {
    const noisy = Array.from({ length: 3 }, () => hold("noisy"));
    await settled();
    const stop = new AbortController();
    const second = hold("noisy", stop.signal);
    const third = hold("noisy");
    await settled();
    noisy[0]?.release();
    await noisy[0]?.ended;
    await settled();
    expect([second.held(), third.held()]).toEqual([true, false]);
    stop.abort(new Error("cancelled"));
    noisy[1]?.release();
    await noisy[1]?.ended;
    await settled();
    expect(third.held()).toBe(true);
  });

  it("are not read further until a slot is free", async () => {
    const server = createServer((_, response) => response.end(Buffer.alloc(8 * 1024 * 1024))).listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const guardedFetch = createGuardedFetch({ allow: ["loopback"] });
    try {
      const noisy = Array.from({ length: 3 }, () => hold("noisy"));
      await settled();
      let read = false;
      const reading = holdingAnswers("noisy", async () => {
        const { body } = await guardedFetch.fetch({ url });
        read = true;
        return body.length;
      });
      const short = await holdingAnswers("quiet", () => guardedFetch.fetch({ url }));
      expect(short.body.length).toBe(8 * 1024 * 1024);
      expect(read).toBe(false);
      noisy[0]?.release();
      expect(await reading).toBe(8 * 1024 * 1024);
    } finally {
      await guardedFetch.close();
      server.close();
    }
  });
});
