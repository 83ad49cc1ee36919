import Router from "@koa/router";
import Koa from "koa";
import { createKeyUseRecorder } from "../services/accounts/key-use.ts";
import { createRateLimiter } from "../services/rate-limiter.ts";
import { createServices, type ApiDeps } from "./deps.ts";
import { createIdempotency } from "./http/idempotency.ts";
import { accessLog, requestId, tracing, securityHeaders, problems, wellFormed, unmatched } from "./http/middleware.ts";
import type { Operation, RequestState } from "./http/operation.ts";
import { describeOperations } from "./operations.ts";
import { codecCors } from "./system/codec.ts";
import { pageCors } from "./pages/admission.ts";
import { publicFiles } from "./pages/public-files.ts";
import { consoleFiles } from "./system/console.ts";
import { serveOperation, type ServeDeps } from "./http/serve-operation.ts";

const CLIENT_GONE: readonly string[] = [
  "ECONNRESET",
  "EPIPE",
  "ERR_STREAM_PREMATURE_CLOSE",
  "ERR_STREAM_DESTROYED",
  "HPE_INVALID_EOF_STATE",
];

/** The HTTP interface of Millrace, not listening yet. */
export interface Api {
  readonly app: Koa<RequestState>;
  /** Responds to all callers that wait for a run. Call it when the process is asked to stop, before its connections are closed. */
  drain(): void;
  /** Writes buffered data. Call it when no request is in progress any more. */
  close(): Promise<void>;
}

/** Builds the HTTP interface: every operation, behind the same few middleware functions. */
export function createApp(deps: ApiDeps): Api {
  const { config, db, logger } = deps;
  const keyUse = createKeyUseRecorder(db, logger);
  const services = createServices(deps, keyUse.note);
  const operations = describeOperations(config);
  const serving: ServeDeps = {
    ...deps,
    ...services,
    idempotency: createIdempotency(deps),
    rateLimiter: config.MILLRACE_RATE_LIMIT
      ? createRateLimiter(db, { name: "default", points: config.MILLRACE_RATE_LIMIT, seconds: 60 })
      : undefined,
  };
  const app = new Koa<RequestState>();
  app.use(requestId());
  if (deps.tracer) app.use(tracing(deps.tracer));
  app.use(accessLog(logger, deps.metrics));
  app.use(securityHeaders(config.MILLRACE_PUBLIC_URL));
  app.use(problems(logger));
  app.use(wellFormed());
  app.use(consoleFiles());
  app.use(publicFiles(config, services.pages));
  app.use(pageCors(services.pages));
  app.use(codecCors(config));
  app.use(unmatched(operations, config.MILLRACE_CORS));
  app.use(routes(operations, serving));
  // An error after the first byte of the response, usually because the client disconnected.
  app.on("error", (err: NodeJS.ErrnoException) => {
    if (CLIENT_GONE.includes(err.code ?? "")) logger.debug({ err }, "client disconnected");
    else logger.error({ err }, "response aborted");
  });
  const close = async (): Promise<void> => {
    await Promise.all([services.runService.close(), keyUse.close(), services.oidc.close()]);
  };
  return { app, drain: services.runService.drain, close };
}

function routes(operations: readonly Operation[], serving: ServeDeps): Koa.Middleware<RequestState> {
  const router = new Router<RequestState>({ strict: true, sensitive: true, exclusive: true });
  for (const operation of operations) {
    const path = operation.path.replaceAll(/\{(\w+)\}/g, ":$1");
    router.register(path, [operation.method], serveOperation(operation, serving), { name: operation.id });
  }
  return router.routes() as Koa.Middleware<RequestState>;
}
