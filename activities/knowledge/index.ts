import { recordSyncEnd } from "../../src/services/knowledge/sync.ts";
import type { ActivityDeps } from "../deps.ts";
import type { JobEnds } from "../faults.ts";
import { jobs } from "../jobs.ts";
import { createBeginScheduledSync, createFinishSync } from "./finish-sync.ts";
import { createExtractResource, type ExtractDeps } from "./extract-resource.ts";
import { createFetchResource, type FetchDeps } from "./fetch-resource.ts";
import { createIndexResource, type IndexResourceDeps } from "./index-resource.ts";
import { createListSync, type ListSyncDeps } from "./list-sync.ts";
import { createReadSync, type ReadSyncDeps } from "./read-sync.ts";
import { failResource } from "./resource-step.ts";
import type { ResourceActivities, SyncActivities } from "./types.ts";

/** The activities that index the resources of knowledge bases. */
export function createResourceActivities(
  deps: FetchDeps & ExtractDeps & IndexResourceDeps & Pick<ActivityDeps, "onFailure">,
): ResourceActivities {
  const fail: JobEnds<ResourceActivities>["indexResource"] = (input, error) => failResource(deps.db, input, error);
  return jobs<ResourceActivities>(
    {
      fetchResource: createFetchResource(deps),
      extractResource: createExtractResource(deps),
      indexResource: createIndexResource(deps),
    },
    deps,
    { fetchResource: fail, extractResource: fail, indexResource: fail },
  );
}

export function createSyncActivities(
  deps: ListSyncDeps & ReadSyncDeps & Pick<ActivityDeps, "onFailure">,
): SyncActivities {
  const fail: JobEnds<SyncActivities>["listSync"] = (input, error) =>
    deps.db.orgTransaction(input.org_id, (connection) => recordSyncEnd(connection, input, "failed", error));
  return jobs<SyncActivities>(
    {
      listSync: createListSync(deps),
      readSync: createReadSync(deps),
      finishSync: createFinishSync(deps),
      beginScheduledSync: createBeginScheduledSync(deps),
    },
    deps,
    // No sync exists whose failure `beginScheduledSync` could record; the schedule starts the next one.
    { listSync: fail, readSync: fail, finishSync: fail, beginScheduledSync: null },
  );
}
