import type { Config } from "../config.ts";
import type { FlowLimits } from "../domain/flow/definition/limits.ts";
import type { BlobStore } from "../platform/blobs/blobs.ts";
import type { Evaluation } from "../platform/evaluation/evaluation.ts";
import type { GuardedFetch } from "../platform/fetch/guarded-fetch.ts";
import type { Logger } from "../platform/logging/logger.ts";
import type { Metrics } from "../platform/metrics.ts";
import type { OidcClient } from "../platform/oidc/oidc-client.ts";
import type { ReadinessParts } from "../platform/readiness.ts";
import type { Tracer } from "../platform/tracing/tracer.ts";
import type { SecretBox } from "../platform/secrets/seal.ts";
import type { StartInputs } from "../services/runs/start-inputs.ts";
import type { Payloads } from "../services/secrets/payloads.ts";
import type { Scorer } from "../services/evals/scorer.ts";
import type { CredentialLookup } from "../services/accounts/credentials.ts";
import type { SignIn } from "../services/accounts/sign-in.ts";
import type { Knowledge } from "../services/knowledge/open-knowledge.ts";
import type { PasswordQueue } from "../services/accounts/password-queue.ts";
import type { PageDoor } from "../services/pages/page-door.ts";
import type { FlowCheck } from "../services/projects/check-flow.ts";
import type { FlowCache } from "../services/projects/flow-cache.ts";
import type { PlanCache } from "../services/projects/plans.ts";
import type { QuotaReader } from "../services/accounts/quotas.ts";
import type { RunService } from "../services/runs/run-service.ts";
import type { StartRunDeps } from "../services/triggers/start-run.ts";
import type { Reads } from "../services/system/reads.ts";
import type { Database } from "../stores/db.ts";
import type { RunFeed } from "../stores/runs/run-feed.ts";
import type { RunObserver } from "../services/runs/run-observer.ts";
import type { ProviderJobs } from "../temporal/providers.ts";
import type { QueueStats } from "../temporal/queues.ts";
import type { RunStarter } from "../temporal/runs.ts";
import type { Schedules } from "../temporal/schedules.ts";

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

/** What handlers get: the dependencies, and the services that createApp builds from them. */
export interface HandlerDeps extends ApiDeps {
  readonly credentials: CredentialLookup;
  readonly signIn: SignIn;
  /** The client of the configured identity providers. */
  readonly oidc: OidcClient;
  readonly flows: FlowCache;
  /** Finds every problem of a flow. */
  readonly checkFlow: FlowCheck;
  readonly runService: RunService;
  /** The configured limits of a flow's contents. */
  readonly limits: FlowLimits;
  /** Longest inputs of a run, in bytes. */
  readonly maxInputBytes: number;
  /** With what triggers start runs. */
  readonly starting: StartRunDeps;
  readonly quotas: QuotaReader;
  /** Bounds the concurrent hashing of passwords. */
  readonly passwords: PasswordQueue;
  /** Admits visitors to published pages. */
  readonly pages: PageDoor;
}
