import { createServer } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { claimPort } from "../../src/dev/ports.ts";

async function listen(port: number): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as { port: number }).port;
}

describe("claimPort", () => {
  it("takes the preferred port when it is free", async () => {
    const port = await claimPort();
    expect(await claimPort(port)).toBe(port);
  });

  it("takes another port if the preferred one is in use", async () => {
    const taken = await listen(0);
    expect(await claimPort(taken)).not.toBe(taken);
  });

  it("never gives the same port to two callers at the same time", async () => {
    const ports = await Promise.all(Array.from({ length: 40 }, () => claimPort()));
    expect(new Set(ports).size).toBe(40);
  });
});
