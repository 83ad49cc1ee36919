import { createEvalActivities } from "../../activities/evals/index.ts";
import type { Sandbox } from "../platform/sandbox/sandbox.ts";
import { createScorer, type Scorer } from "../services/evals/scorer.ts";
import type { Knowledge } from "../services/knowledge/open-knowledge.ts";
import { createJudgeModel } from "../services/models/judge-model.ts";
import { runLimits } from "../services/runs/create-run.ts";
import { VERSION } from "../version.ts";
import type { Models } from "./models.ts";
import type { ServiceProcess } from "./open-process.ts";
import type { Runs } from "./runs.ts";

/** Opens the scorer, which runs evaluators on samples. */
export function openScorer(
  { evaluation, guardedFetch, secrets }: ServiceProcess,
  parts: { readonly sandbox: Sandbox; readonly knowledge: Knowledge; readonly models: Models },
): Scorer {
  return createScorer({
    evaluation,
    embedders: parts.knowledge.deps.embedders,
    sandbox: parts.sandbox,
    guardedFetch,
    secrets,
    judge: createJudgeModel(parts.models.models),
    version: VERSION,
  });
}

/** The activities of experiments, imports and monitors. */
export function openEvals({ config, db, guardedFetch }: ServiceProcess, runs: Runs, scorer: Scorer) {
  const limits = { ...runLimits(config, db), max_input_bytes: config.MILLRACE_INPUT_LIMIT_BYTES };
  const maxBytes = config.MILLRACE_UPLOAD_LIMIT_BYTES;
  return { background: createEvalActivities({ ...runs.activities, guardedFetch, maxBytes, limits, scorer }) };
}
