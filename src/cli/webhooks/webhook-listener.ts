import { createServer, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { webhookProblem } from "../../domain/webhooks/webhook-signature.ts";
import { CommandFailure } from "../failure.ts";

/** Events are much shorter, because values longer than 20 kB become references. */
const MAX_BYTES = 1024 * 1024;
const FORWARD_TIMEOUT_MS = 15_000;

/** A delivery as it was received. */
export interface ReceivedDelivery {
  readonly received_at: string;
  readonly verified: boolean;
  /** Why the delivery could not be verified or forwarded. */
  readonly problem: string | null;
  /** The status of the response. */
  readonly status: number;
  /** The headers of Standard Webhooks. */
  readonly headers: Readonly<Record<string, string>>;
  /** A string if the body is not JSON. */
  readonly body: unknown;
}

export interface ListenerOptions {
  /** 0 chooses a free port. */
  readonly port: number;
  /** Deliveries wait for the secret, because the subscription is created only after the listener's URL is known. */
  readonly secret: Promise<string>;
  /** The URL to which verified deliveries are forwarded; its response is returned. */
  readonly forward: string | undefined;
  readonly onDelivery: (delivery: ReceivedDelivery) => void;
}

export interface Listener {
  /** The listener's URL on this machine. */
  readonly url: string;
  close(): Promise<void>;
}

/** Receives deliveries on 127.0.0.1: returns 204 if one is verified, otherwise 400. Throws CommandFailure if the port is taken. */
export async function startListener({ port, secret, forward, onDelivery }: ListenerOptions): Promise<Listener> {
  async function receive(request: IncomingMessage): Promise<number> {
    const received_at = new Date().toISOString();
    if (request.method !== "POST") return 405;
    const text = await textOf(request);
    if (text === undefined) return 413;
    const headers = webhookHeaders(request.headers);
    const refused = webhookProblem(headers, text, await secret);
    const { status, problem } =
      refused !== null
        ? { status: 400, problem: refused }
        : forward === undefined
          ? { status: 204, problem: null }
          : await forwardDelivery(forward, headers, text);
    onDelivery({ received_at, verified: refused === null, problem, status, headers, body: jsonOr(text) });
    return status;
  }

  const server = createServer((request, response) => {
    receive(request).then(
      (status) => response.writeHead(status).end(),
      // The request was cut off.
      () => response.destroy(),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(new CommandFailure(`Cannot listen on port ${port} of 127.0.0.1 (${error.code ?? error.message}).`)),
    );
    server.listen(port, "127.0.0.1", resolve);
  });
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : port}/`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Undefined if it is too long. */
async function textOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length <= MAX_BYTES) chunks.push(chunk);
  }
  return length > MAX_BYTES ? undefined : Buffer.concat(chunks).toString("utf8");
}

function webhookHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      name.startsWith("webhook-") && typeof value === "string" ? [[name, value]] : [],
    ),
  );
}

async function forwardDelivery(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
): Promise<{ status: number; problem: string | null }> {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body,
      redirect: "manual",
      signal: AbortSignal.timeout(FORWARD_TIMEOUT_MS),
    });
    await response.body?.cancel();
    return { status: response.status, problem: response.ok ? null : `${url} returned status ${response.status}` };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const why = cause instanceof Error ? ((cause as NodeJS.ErrnoException).code ?? cause.message) : String(cause);
    return { status: 502, problem: `${url} does not respond (${why})` };
  }
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
