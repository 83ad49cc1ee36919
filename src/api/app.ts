import Router from "@koa/router";
import Koa from "koa";
import type { ApiDeps, HandlerDeps } from "./deps.ts";
import { createCredentialLookup } from "../services/accounts/credentials.ts";
import { createOidcClient } from "../platform/oidc/oidc-client.ts";
import { createPasswordQueue } from "../services/accounts/password-queue.ts";
import { createSignIn } from "../services/accounts/sign-in.ts";
import { createPageDoor } from "../services/pages/page-door.ts";
import { createFlowCheck } from "../services/projects/check-flow.ts";
import { createFlowCache } from "../services/projects/flow-cache.ts";
import { createIdempotency } from "./http/idempotency.ts";
import { createKeyUseRecorder } from "../services/accounts/key-use.ts";
import { accessLog } from "./http/middleware/access-log.ts";
import { problems } from "./http/middleware/problems.ts";
import { requestId } from "./http/middleware/request-id.ts";
import { securityHeaders } from "./http/middleware/security-headers.ts";
import { tracing } from "./http/middleware/tracing.ts";
import { unmatched } from "./http/middleware/unmatched.ts";
import { wellFormed } from "./http/middleware/well-formed.ts";
import type { Operation, RequestState } from "./http/operation.ts";
import { describeOperations } from "./operations.ts";
import { createRateLimiter } from "../services/rate-limiter.ts";
import { codecCors } from "./system/codec.ts";
import { pageCors } from "./pages/admission.ts";
import { publicFiles } from "./pages/public-files.ts";
import { consoleFiles } from "./system/console.ts";
import { flowLimits } from "../services/projects/deploy-flow.ts";
import { runLimits } from "../services/runs/create-run.ts";
import { createRunService } from "../services/runs/run-service.ts";
import { serveOperation } from "./http/serve-operation.ts";
import type { ServeDeps } from "./http/serve-operation.ts";

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
  const limits = runLimits(config, db);
  const flows = createFlowCache(db, deps.plans);
  const passwords = createPasswordQueue();
  const services: Omit<HandlerDeps, keyof ApiDeps> = {
    credentials: createCredentialLookup(db, keyUse.note),
    signIn: createSignIn(db, passwords),
    oidc: createOidcClient(config.MILLRACE_PRIVATE_HOSTS, config.MILLRACE_OIDC_PROVIDERS),
    flows,
    checkFlow: createFlowCheck(deps),
    runService: createRunService({ ...deps, limits }),
    limits: flowLimits(config),
    maxInputBytes: config.MILLRACE_INPUT_LIMIT_BYTES,
    starting: {
      ...deps,
      flows,
      limits,
      maxInputBytes: config.MILLRACE_INPUT_LIMIT_BYTES,
      onStartDelayed: (run_id, err) => logger.warn({ err, run_id }, "could not start the run; the sweeper will retry"),
    },
    quotas: limits.quotas,
    passwords,
    pages: createPageDoor(db, passwords, config.MILLRACE_PAGE_RATE_LIMIT),
  };
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
