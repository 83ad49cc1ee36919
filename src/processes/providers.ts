import { createProviderActivities } from "../../activities/providers/index.ts";
import { createTriggerActivities } from "../../activities/triggers/index.ts";
import { createKnowledgeQuery } from "../../activities/nodes/knowledge.ts";
import { createExecuteAction } from "../../activities/providers/execute-action.ts";
import { createHttpAction } from "../../activities/providers/http-action.ts";
import { createMcpAction } from "../../activities/providers/mcp-action.ts";
import { createMillraceActions } from "../../activities/providers/millrace-actions.ts";
import { createPostgresActions } from "../../activities/providers/postgres-actions.ts";
import { createS3Actions } from "../../activities/providers/s3-actions.ts";
import { createSmtpActions } from "../../activities/providers/smtp-actions.ts";
import { createGuardedSockets } from "../platform/fetch/guarded-sockets.ts";
import { createMcpClient } from "../platform/mcp/mcp-client.ts";
import type { Knowledge } from "../services/knowledge/open-knowledge.ts";
import { createInputCheck } from "../services/providers/action-inputs.ts";
import type { ConnectionResolver } from "../services/providers/resolve-connection.ts";
import { startTriggers } from "../services/triggers/due-firings.ts";
import { VERSION } from "../version.ts";
import { warning, type ServiceProcess } from "./open-process.ts";
import type { Runs } from "./runs.ts";

/** Opens the function that executes an action of a provider, and the activities of connections and triggers. */
export function openProviders(
  process: ServiceProcess,
  runs: Runs,
  { deps: knowledge }: Knowledge,
  connections: ConnectionResolver,
) {
  const { config, db, blobs, startInputs, evaluation, guardedFetch } = process;
  const sockets = createGuardedSockets({ allow: config.MILLRACE_PRIVATE_HOSTS });
  const mcp = createMcpClient(guardedFetch, VERSION);
  const query = createKnowledgeQuery(knowledge);
  const executeAction = createExecuteAction({
    db,
    connections,
    checkInputs: createInputCheck(evaluation),
    http: createHttpAction({ guardedFetch, version: VERSION }),
    executors: {
      mcp: createMcpAction({ db, mcp }),
      millrace: createMillraceActions({ db, blobs, startInputs, ...runs.starting, query }),
      postgres: createPostgresActions({ sockets }),
      smtp: createSmtpActions({ sockets }),
      s3: createS3Actions({ guardedFetch }),
    },
  });
  const outbound = { ...runs.activities, connections, sockets, guardedFetch, version: VERSION };
  return {
    query,
    executeAction,
    activities: {
      nodes: createProviderActivities({ ...outbound, executeAction, mcp }),
      background: createTriggerActivities(outbound),
    },
  };
}

export type Providers = ReturnType<typeof openProviders>;

/** Starts the runs of fired triggers. */
export function openTriggers(process: ServiceProcess, runs: Runs) {
  const triggers = startTriggers(
    { ...runs.activities, ...runs.starting },
    process.config.MILLRACE_SWEEP_INTERVAL_MS,
    warning(process, "could not start the runs of triggers; will retry"),
  );
  process.shutdown.add("triggers", () => triggers.close());
  return triggers;
}
