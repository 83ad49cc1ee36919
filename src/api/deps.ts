import type { Config } from "../config.ts";
import type { BlobStore } from "../platform/blobs/blobs.ts";
import type { Evaluation } from "../platform/evaluation/evaluation.ts";
import type { GuardedFetch } from "../platform/fetch/guarded-fetch.ts";
import type { Logger } from "../platform/logging/logger.ts";
import type { Metrics } from "../platform/metrics.ts";
import type { ReadinessParts } from "../platform/readiness.ts";
import type { Tracer } from "../platform/tracing/tracer.ts";
import type { SecretBox } from "../platform/secrets/seal.ts";
import type { StartInputs } from "../services/runs/start-inputs.ts";
import type { Payloads } from "../services/secrets/payloads.ts";
import type { Scorer } from "../services/evals/scorer.ts";
import type { Knowledge } from "../services/knowledge/open-knowledge.ts";
import type { PlanCache } from "../services/projects/plans.ts";
import type { StartRunDeps } from "../services/triggers/start-run.ts";
import type { Reads } from "../services/system/reads.ts";
import type { Database } from "../stores/db.ts";
import type { RunFeed } from "../stores/runs/run-feed.ts";
import type { RunObserver } from "../services/runs/run-observer.ts";
import type { ProviderJobs } from "../temporal/providers.ts";
import type { QueueStats } from "../temporal/queues.ts";
import type { RunStarter } from "../temporal/runs.ts";
import type { Schedules } from "../temporal/schedules.ts";
import { createCredentialLookup } from "../services/accounts/credentials.ts";
import { createSignIn } from "../services/accounts/sign-in.ts";
import { createPasswordQueue } from "../services/accounts/password-queue.ts";
import { createPageDoor } from "../services/pages/page-door.ts";
import { createFlowCheck } from "../services/projects/check-flow.ts";
import { createFlowCache } from "../services/projects/flow-cache.ts";
import { flowLimits } from "../services/projects/deploy-flow.ts";
import { runLimits } from "../services/runs/create-run.ts";
import { createRunService } from "../services/runs/run-service.ts";
import { createOidcClient } from "../platform/oidc/oidc-client.ts";

/** The dependencies of the API; main creates them, tests create their own. */
export interface ApiDeps {
  readonly config: Config;
  readonly db: Database;
  /** The database for lists, statistics and exports; its data may be slightly out of date. */
  readonly reads: Reads;
  readonly blobs: BlobStore;
  /** The plans that this process has loaded, shared with the worker of the process. */
  readonly plans: PlanCache;
  readonly starter: RunStarter;
  /** Checks connections, and runs actions. */
  readonly providerJobs: ProviderJobs;
  /** Creates schedules of triggers, syncs and monitors. */
  readonly schedules: Schedules;
  /** Scores samples by evaluators. */
  readonly scorer: Scorer;
  /** Reports the state of the installation's task queues. */
  readonly describeQueues: () => Promise<QueueStats[]>;
  readonly feed: RunFeed;
  /** Validates flows and answers in child processes, however expensive the check is. */
  readonly evaluation: Evaluation;
  /** Tells which URLs may be called; the workers make the calls. */
  readonly guardedFetch: GuardedFetch;
  /** Encrypts the signing secrets and the headers of webhooks. */
  readonly secrets: SecretBox;
  /** Encrypts payloads that Temporal stores. */
  readonly payloads: Payloads;
  /** Encrypts the values that a run's row keeps until the run starts. */
  readonly startInputs: StartInputs;
  /** Queries knowledge bases. */
  readonly knowledge: Knowledge;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly observer: RunObserver;
  /** Exports traces, if that is configured. */
  readonly tracer?: Tracer | undefined;
  /** The checks of /readyz, by the name it reports; each rejects if its part does not respond. */
  readonly readiness: ReadinessParts<"postgres" | "schema" | "temporal">;
  /** Aborts when the process begins to stop. */
  readonly stopping?: AbortSignal;
}

/** Builds the services of handlers from the dependencies. */
export function createServices(deps: ApiDeps, noteKeyUse: (keyId: string) => void) {
  const { config, db, logger } = deps;
  const limits = runLimits(config, db);
  const flows = createFlowCache(db, deps.plans);
  const passwords = createPasswordQueue();
  const maxInputBytes = config.MILLRACE_INPUT_LIMIT_BYTES;
  const onStartDelayed = (run_id: string, err: unknown): void =>
    logger.warn({ err, run_id }, "could not start the run; the sweeper will retry");
  const starting: StartRunDeps = { ...deps, flows, limits, maxInputBytes, onStartDelayed };
  return {
    credentials: createCredentialLookup(db, noteKeyUse),
    signIn: createSignIn(db, passwords),
    /** The client of the configured identity providers. */
    oidc: createOidcClient(config.MILLRACE_PRIVATE_HOSTS, config.MILLRACE_OIDC_PROVIDERS),
    flows,
    /** Finds every problem of a flow. */
    checkFlow: createFlowCheck(deps),
    runService: createRunService({ ...deps, limits }),
    /** The configured limits of a flow's contents. */
    limits: flowLimits(config),
    /** Longest inputs of a run, in bytes. */
    maxInputBytes,
    /** With what triggers start runs. */
    starting,
    quotas: limits.quotas,
    /** Bounds the concurrent hashing of passwords. */
    passwords,
    /** Admits visitors to published pages. */
    pages: createPageDoor(db, passwords, config.MILLRACE_PAGE_RATE_LIMIT),
  };
}

/** What handlers get: the dependencies, and the services that createApp builds from them. */
export type HandlerDeps = ApiDeps & ReturnType<typeof createServices>;
