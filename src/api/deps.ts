import type { Config } from "../config.ts";
import type { BlobStore } from "../platform/blobs/blobs.ts";
import type { GuardedFetch } from "../platform/fetch/guarded-fetch.ts";
import type { Logger } from "../platform/logging/logger.ts";
import type { Metrics } from "../platform/metrics.ts";
import type { SecretBox } from "../platform/secrets/seal.ts";
import type { Database } from "../stores/db.ts";
import type { RunFeed } from "../stores/runs/run-feed.ts";
import type { RunStarter } from "../temporal/runs.ts";

/** Everything the API works with; main makes it, tests make their own. */
export interface ApiDeps {
  readonly config: Config;
  readonly db: Database;
  readonly blobs: BlobStore;
  readonly runs: RunStarter;
  readonly feed: RunFeed;
  /** Tells which addresses may be called; the calls themselves are the workers'. */
  readonly guardedFetch: GuardedFetch;
  /** Seals what webhooks are signed and sent with. */
  readonly secrets: SecretBox;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** What /readyz asks, by the name it reports; each rejects when that part does not answer. */
  readonly readiness: Readonly<Record<"postgres" | "temporal", () => Promise<void>>>;
}
