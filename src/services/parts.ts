import type { Config } from "../config.ts";
import type { BlobStore } from "../platform/blobs/blobs.ts";
import type { Evaluation } from "../platform/evaluation/evaluation.ts";
import type { GuardedFetch } from "../platform/fetch/guarded-fetch.ts";
import type { GuardedSockets } from "../platform/fetch/guarded-sockets.ts";
import type { Logger } from "../platform/logging/logger.ts";
import type { SecretBox } from "../platform/secrets/seal.ts";
import type { Database } from "../stores/db.ts";
import type { RunFeed } from "../stores/runs/run-feed.ts";
import type { RunStarter } from "../temporal/runs.ts";
import type { Schedules } from "../temporal/schedules.ts";
import type { QuotaReader } from "./accounts/quotas.ts";
import type { FlowCache } from "./projects/flow-cache.ts";
import type { PlanCache } from "./projects/plans.ts";
import type { RunObserver } from "./runs/run-observer.ts";
import type { StartInputs } from "./runs/start-inputs.ts";

/** What a process opens once, and gives to everything that needs it. */
interface AllParts {
  readonly config: Config;
  readonly db: Database;
  readonly blobs: BlobStore;
  /** Tells the watchers of a run that it has changed. */
  readonly feed: RunFeed;
  readonly logger: Logger;
  readonly secrets: SecretBox;
  readonly evaluation: Evaluation;
  readonly guardedFetch: Pick<GuardedFetch, "fetch">;
  readonly sockets: GuardedSockets;
  readonly starter: RunStarter;
  readonly schedules: Schedules;
  readonly plans: PlanCache;
  readonly flows: FlowCache;
  readonly quotas: QuotaReader;
  readonly observer: RunObserver;
  readonly startInputs: StartInputs;
  /** Millrace's own, for the User-Agent. */
  readonly version: string;
  /** The longest input of a run (bytes). */
  readonly maxInputBytes: number;
}

/** The named parts of a process. */
export type Parts<Name extends keyof AllParts> = Pick<AllParts, Name>;
