import type { Config } from "../config.ts";
import type { Authenticator } from "./authenticate.ts";
import type { ApiDeps } from "./deps.ts";
import type { FlowCache } from "./flow-cache.ts";
import { openApiDocument } from "./openapi/document.ts";
import type { Operation } from "./operation.ts";
import type { RunService } from "./run-service.ts";
import { createApiKeyOperations } from "./routes/api-keys.ts";
import { createDocsOperations } from "./routes/docs.ts";
import { createDocumentOperations } from "./routes/documents.ts";
import { createFlowIoOperations } from "./routes/flow-io.ts";
import { createFlowVersionOperations } from "./routes/flow-versions.ts";
import { createFlowOperations } from "./routes/flows.ts";
import { createHealthOperations } from "./routes/health.ts";
import { createInferenceOperations } from "./routes/inference.ts";
import { createLimitsOperations } from "./routes/limits.ts";
import { createProjectOperations } from "./routes/projects.ts";
import { createRunControlOperations } from "./routes/run-control.ts";
import { createRunOperations } from "./routes/runs.ts";
import { createStreamOperations } from "./routes/stream.ts";
import { createTokenOperations } from "./routes/token.ts";
import { createUploadOperations } from "./routes/uploads.ts";
import { createUserOperations } from "./routes/users.ts";
import { createWebhookDeliveryOperations } from "./routes/webhook-deliveries.ts";
import { createWebhookSubscriptionOperations } from "./routes/webhook-subscriptions.ts";

/** What the operations share beside their dependencies. */
export interface ApiServices {
  readonly authenticator: Authenticator;
  readonly flows: FlowCache;
  readonly runService: RunService;
}

/** Every operation of the service, in the order of the document. */
export function createOperations(deps: ApiDeps, services: ApiServices): Operation[] {
  const operations: Operation[] = [
    ...createProjectOperations(deps, services),
    ...createFlowVersionOperations(deps, services),
    ...createFlowIoOperations(deps),
    ...createFlowOperations(deps),
    ...createInferenceOperations(deps, services),
    ...createStreamOperations(deps, services),
    ...createUploadOperations(deps, services),
    ...createDocumentOperations(deps),
    ...createRunOperations(deps, services),
    ...createRunControlOperations(deps, services),
    ...createWebhookSubscriptionOperations(deps),
    ...createWebhookDeliveryOperations(deps),
    ...createApiKeyOperations(deps, services),
    ...createUserOperations(deps, services),
    ...createTokenOperations(deps, services),
    ...createLimitsOperations(deps),
    ...createHealthOperations(deps),
    ...createDocsOperations(() => openApiDocument(operations)),
  ];
  return operations;
}

/** The operations without anything behind them: enough to be described, of no use to serve a request. */
export function describeOperations(config: Config): Operation[] {
  const nothing = inert() as Omit<ApiDeps, "config"> & ApiServices;
  const { db, blobs, runs, feed, guardedFetch, secrets, logger, metrics, readiness } = nothing;
  const { authenticator, flows, runService } = nothing;
  return createOperations(
    { config, db, blobs, runs, feed, guardedFetch, secrets, logger, metrics, readiness },
    { authenticator, flows, runService },
  );
}

/** Whatever is asked of it, it answers itself: what an operation's factory wires up stays unused. */
function inert(): unknown {
  const self: unknown = new Proxy(() => undefined, {
    get: (_, name) => (typeof name === "symbol" || name === "then" ? undefined : self),
    apply: () => self,
  });
  return self;
}
