import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** What the thread of the noisy organisation needs. */
export interface Noise {
  /** The name of the attack. */
  readonly attack: string;
  readonly databaseUrl: string;
  readonly apiUrl: string;
  readonly targets: Pick<Targets, "quick" | "slow" | "receiver">;
}

/** The URLs that flows call and events are delivered to. */
export interface Targets {
  /** Responds immediately. */
  readonly quick: string;
  /** Responds after 25 s. */
  readonly slow: string;
  /** Receives events: resolves when the event of a run arrives. */
  readonly receiver: string;
  arrival(runId: string): Promise<void>;
  close(): void;
}

const SLOW_MS = 25_000;

export async function openTargets(): Promise<Targets> {
  const arrived = new Set<string>();
  const waiting = new Map<string, () => void>();
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part: Buffer) => (body += part.toString()));
    request.on("end", () => {
      const path = request.url ?? "";
      if (path.startsWith("/slow")) setTimeout(() => response.end("late"), SLOW_MS);
      else response.end("ok");
      if (!path.startsWith("/receiver")) return;
      const { data } = JSON.parse(body) as { data: { run_id: string } };
      arrived.add(data.run_id);
      waiting.get(data.run_id)?.();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    quick: `${url}/quick`,
    slow: `${url}/slow`,
    receiver: `${url}/receiver`,
    arrival: (runId) =>
      arrived.has(runId) ? Promise.resolve() : new Promise((resolve) => waiting.set(runId, () => resolve())),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
