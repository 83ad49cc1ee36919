import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** An empty folder for one test, deleted afterwards. Other users may traverse it, because Postgres runs as another user under root. */
export function scratchDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "millrace-scratch-"));
  chmodSync(directory, 0o711);
  onTestFinished(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));
  return directory;
}

/** Waits before the next check, longer each time. Constant checking would take CPU time from what the test waits for. */
export async function aMoment(since: number): Promise<void> {
  const ms = Math.min(Math.max((Date.now() - since) / 10, 25), 100);
  await new Promise((resolve) => setTimeout(resolve, ms));
}

/** Waits until `probe` returns a value other than undefined or false. Throws after `timeoutMs`, with the name of what it waited for. */
export async function eventually<T>(
  what: string,
  probe: () => T | undefined | false | Promise<T | undefined | false>,
  timeoutMs = 60_000,
): Promise<T> {
  const since = Date.now();
  while (Date.now() - since < timeoutMs) {
    const answer = await probe();
    if (answer !== undefined && answer !== false) return answer;
    await aMoment(since);
  }
  throw new Error(`not within ${timeoutMs} ms: ${what}`);
}
