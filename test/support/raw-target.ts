import { createServer, type AddressInfo, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** What a raw target does after a request has arrived completely. */
export type RawAnswer = (socket: Socket) => void;

/** A server that accepts HTTP requests and sends the given bytes, whether they are valid HTTP or not. */
export interface RawTarget {
  /** Like "http://127.0.0.1:40123", without a final slash. */
  readonly url: string;
  readonly port: number;
  /** Every request that arrived completely, in order, as text. */
  readonly requests: readonly string[];
}

/** Starts a raw target for one test. It sends text or bytes and then closes the connection. */
export async function startRawTarget(answer: string | Uint8Array | RawAnswer): Promise<RawTarget> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const respond: RawAnswer = typeof answer === "function" ? answer : (socket) => void socket.end(answer);
  const server = createServer((socket) => {
    sockets.add(socket);
    let received = "";
    socket.on("close", () => sockets.delete(socket)).on("error", () => undefined);
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
      if (!isWhole(received)) return;
      requests.push(received);
      received = "";
      respond(socket);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, requests };
}

function isWhole(request: string): boolean {
  const end = request.indexOf("\r\n\r\n");
  const length = /^content-length: *(\d+)/im.exec(request)?.[1] ?? 0;
  return end >= 0 && request.length >= end + 4 + Number(length);
}
