import { STATUS_CODES, createServer } from "node:http";
import type { RequestListener, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { uuidv7 } from "uuidv7";
import { Problem } from "../domain/errors.ts";
import type { Logger } from "../platform/logging/logger.ts";
import { renderProblem } from "./http/problem-answer.ts";

/**
 * How long a connection may be idle: longer than load balancers keep theirs (mostly 60 s). If the server closed
 * first, a request just being sent would fail.
 */
const KEEP_ALIVE_MS = 75_000;

/**
 * Most bytes of an address and its headers together. Node's 16 KiB would refuse lists that use the full length of
 * every filter: 2,048 characters, each of them twelve bytes once encoded.
 */
export const MAX_HEADER_BYTES = 64 * 1024;

/**
 * The API's HTTP server, not yet listening. Node itself would answer malformed requests with a bare status and no log
 * line. Here the handler gets the ones that can be read in part, and this file answers the rest.
 */
export function createApiServer(handler: RequestListener, logger: Logger): Server {
  const answering = new WeakMap<Duplex, Set<ServerResponse>>();
  const options = { requireHostHeader: false, keepAliveTimeout: KEEP_ALIVE_MS, maxHeaderSize: MAX_HEADER_BYTES };
  const server = createServer(options, (req, res) => {
    const responses = answering.get(req.socket) ?? new Set();
    answering.set(req.socket, responses.add(res));
    res.once("close", () => responses.delete(res));
    handler(req, res);
  });
  server.on("checkExpectation", (req, res) => void server.emit("request", req, res));
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    // An answer whose headers are sent cannot be replaced.
    const isAnswered = [...(answering.get(socket) ?? [])].some((res) => res.headersSent);
    if (isAnswered || !socket.writable || error.code === "ECONNRESET") return void socket.destroy();
    const requestId = uuidv7();
    const problem = problemOf(error);
    // The error holds what was sent, credentials and all.
    logger.info({ request_id: requestId, status: problem.status, reason: error.code }, "unreadable request");
    socket.end(responseText(problem, requestId), () => socket.destroy());
  });
  return server;
}

function problemOf({ code }: NodeJS.ErrnoException): Problem {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return new Problem("headers_too_large", "The request's address and headers are too long.");
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return new Problem("payload_too_large", "The extensions of the body's chunks are too long.");
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
