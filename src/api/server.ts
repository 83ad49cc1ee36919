import { STATUS_CODES, createServer, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { uuidv7 } from "uuidv7";
import { Problem } from "../domain/errors.ts";
import type { Logger } from "../platform/logging/logger.ts";
import { renderProblem } from "./http/render.ts";

/**
 * How long a connection may be idle: longer than load balancers keep theirs (mostly 60 s). If the server closed first, a request just being
 * sent would fail.
 */
const KEEP_ALIVE_MS = 75_000;

/**
 * Longest URL and headers together (bytes). Node's 16 KiB would refuse lists that use the full length of every filter: 2,048 characters,
 * each of them twelve bytes once encoded.
 */
export const MAX_HEADER_BYTES = 64 * 1024;

/**
 * The API's HTTP server, not listening yet. Once `stopping` has aborted, each response closes its connection, so that its client opens the
 * next one elsewhere. Node itself would respond to malformed requests with a bare status and no log line. Here the handler gets the ones
 * that can be read in part, and this file responds to the others.
 */
export function createApiServer(handler: RequestListener, logger: Logger, stopping?: AbortSignal): Server {
  const answering = new Map<Duplex, Set<ServerResponse>>();
  const options = { requireHostHeader: false, keepAliveTimeout: KEEP_ALIVE_MS, maxHeaderSize: MAX_HEADER_BYTES };
  const server = createServer(options, (req, res) => {
    const responses = answering.get(req.socket) ?? new Set();
    answering.set(req.socket, responses.add(res));
    if (stopping?.aborted) res.shouldKeepAlive = false;
    handler(req, res);
    res.once("close", () => {
      responses.delete(res);
      if (responses.size === 0) answering.delete(req.socket);
    });
  });
  stopping?.addEventListener("abort", () => {
    for (const res of [...answering.values()].flatMap((responses) => [...responses])) res.shouldKeepAlive = false;
  });
  server.on("checkExpectation", (req, res) => void server.emit("request", req, res));
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    // A response whose headers have been sent cannot be replaced.
    const isAnswered = [...(answering.get(socket) ?? [])].some((res) => res.headersSent);
    if (isAnswered || !socket.writable || error.code === "ECONNRESET") return void socket.destroy();
    const requestId = uuidv7();
    const problem = problemOf(error);
    // The error contains the request, including credentials.
    logger.info({ request_id: requestId, status: problem.status, reason: error.code }, "unreadable request");
    socket.end(responseText(problem, requestId), () => socket.destroy());
  });
  return server;
}

function problemOf({ code }: NodeJS.ErrnoException): Problem {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return new Problem("headers_too_large", "The request's URL and headers are too long.");
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return new Problem("payload_too_large", "The chunk extensions of the body are too long.");
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new Problem("request_timeout", "The request did not arrive in time.");
    default:
      return new Problem("bad_request", "This is not a well-formed HTTP request.");
  }
}

function responseText(problem: Problem, requestId: string): string {
  const { status, headers, body = "" } = renderProblem(problem, requestId);
  const all = {
    ...headers,
    "X-Request-Id": requestId,
    "Cache-Control": "no-store",
    "Content-Length": Buffer.byteLength(body),
    Connection: "close",
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`, ...lines, "", body].join("\r\n");
}
