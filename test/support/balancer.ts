import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

/** A load balancer that sends each request to the next backend that reports it is ready, and never retries. */
export interface Balancer {
  readonly url: string;
  add(backend: string): void;
  remove(backend: string): void;
  /** Number of requests sent to a backend. */
  sent(backend: string): number;
  close(): Promise<void>;
}

/** Starts a balancer that requests `/readyz` of its backends every `probeMs` and keeps connections to them. */
export async function startBalancer(probeMs: number): Promise<Balancer> {
  const agent = new Agent({ keepAlive: true });
  const ready = new Map<string, boolean>();
  const sent = new Map<string, number>();
  let turn = 0;
  const probe = async (backend: string): Promise<void> => {
    const isReady = await fetch(`${backend}/readyz`).then(
      ({ status }) => status === 200,
      () => false,
    );
    if (ready.has(backend)) ready.set(backend, isReady);
  };
  const timer = setInterval(() => {
    for (const backend of ready.keys()) void probe(backend);
  }, probeMs);
  const server = createServer((incoming, outgoing) => {
    const backends = [...ready].flatMap(([backend, isReady]) => (isReady ? [backend] : []));
    const backend = backends[(turn += 1) % backends.length];
    if (backend === undefined) return void outgoing.writeHead(502).end("no backend is ready");
    sent.set(backend, (sent.get(backend) ?? 0) + 1);
    const options = { agent, method: incoming.method, headers: incoming.headers };
    const forwarded = request(`${backend}${incoming.url}`, options, (answer) => {
      // Connection headers of a backend's response apply to that connection only.
      const { connection: _, "keep-alive": __, ...headers } = answer.headers;
      outgoing.writeHead(answer.statusCode ?? 502, headers);
      answer.pipe(outgoing);
    });
    forwarded.on("error", (error) => outgoing.writeHead(502).end(error.message));
    incoming.pipe(forwarded);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    add: (backend) => void ready.set(backend, true),
    remove: (backend) => void ready.delete(backend),
    sent: (backend) => sent.get(backend) ?? 0,
    async close() {
      clearInterval(timer);
      agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
