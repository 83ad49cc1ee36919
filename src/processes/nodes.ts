import { withinNodeQuota } from "../../activities/node-quota.ts";
import { createNodeActivities, type NodeActivityDeps } from "../../activities/runs/index.ts";
import { createActionNodeExecutor } from "../../activities/nodes/action.ts";
import { createAgentExecutor } from "../../activities/nodes/agent/agent.ts";
import { createAudioExecutor } from "../../activities/nodes/audio.ts";
import { createCodeExecutor } from "../../activities/nodes/code.ts";
import { createHttpExecutor } from "../../activities/nodes/http.ts";
import { createImageExecutor } from "../../activities/nodes/image.ts";
import { createKnowledgeExecutor } from "../../activities/nodes/knowledge.ts";
import { createLlmExecutor } from "../../activities/nodes/llm.ts";
import { createLoadMedia } from "../../activities/nodes/media.ts";
import { createRouterExecutor } from "../../activities/nodes/router.ts";
import { createUrlExecutor } from "../../activities/nodes/url.ts";
import type { NodeExecutors } from "../../activities/nodes/by-kind.ts";
import type { Sandbox } from "../platform/sandbox/sandbox.ts";
import type { Knowledge } from "../services/knowledge/open-knowledge.ts";
import { createNodePlaces } from "../services/runs/node-places.ts";
import { createTextWriter } from "../services/runs/write-texts.ts";
import { VERSION } from "../version.ts";
import type { Documents } from "./knowledge.ts";
import type { Models } from "./models.ts";
import { warning, type ServiceProcess } from "./open-process.ts";
import type { Providers } from "./providers.ts";
import type { Runs } from "./runs.ts";

/** The parts of the process that node executors use. */
export interface NodeParts {
  readonly sandbox: Sandbox;
  readonly documents: Documents;
  readonly knowledge: Knowledge;
  readonly models: Models;
  readonly providers: Providers;
  readonly mayContinue: NodeActivityDeps["mayContinue"];
}

/** Opens the activities that execute nodes on workers, with one executor per node type. */
export function openNodes(process: ServiceProcess, runs: Runs, parts: NodeParts) {
  const { config, db, blobs, feed, evaluation, guardedFetch } = process;
  const { models } = parts.models;
  const { parse } = parts.documents;
  const { executeAction, query } = parts.providers;
  const maxBytes = config.MILLRACE_INPUT_LIMIT_BYTES;
  const texts = createTextWriter({
    db,
    feed,
    onError: warning(process, "could not publish a model's output while it is written"),
  });
  const load = createLoadMedia({ db, blobs, guardedFetch, version: VERSION, maxBytes });
  const executors: NodeExecutors = {
    http: createHttpExecutor({ evaluation, guardedFetch, version: VERSION }),
    code: createCodeExecutor({ sandbox: parts.sandbox, evaluation }),
    action: createActionNodeExecutor({ evaluation, executeAction }),
    knowledge: createKnowledgeExecutor({ evaluation, knowledge: parts.knowledge.deps }),
    llm: createLlmExecutor({ db, evaluation, models, texts, load }),
    agent: createAgentExecutor({
      db,
      blobs,
      evaluation,
      models,
      texts,
      load,
      executeAction,
      query,
      limits: { max_input_bytes: maxBytes },
    }),
    audio: createAudioExecutor({ models, load }),
    image: createImageExecutor({ models, load, parse }),
    router: createRouterExecutor({ evaluation, models }),
    url: createUrlExecutor({ guardedFetch, version: VERSION, parse }),
  };
  const { executeNode } = createNodeActivities({ ...runs.activities, executors, mayContinue: parts.mayContinue });
  const places = createNodePlaces(db, config.MILLRACE_QUOTA_CONCURRENT_NODES);
  process.shutdown.add("node slots", async () => places.close());
  return { nodes: { executeNode: withinNodeQuota(executeNode, places) } };
}
