import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import { z } from "zod";
import { isUuid } from "../../domain/uuid.ts";
import type { ApiClient, Query } from "../api-client.ts";
import { CommandFailure } from "../failure.ts";
import { allNamed } from "../listing.ts";

const evaluator = z.union([
  z.string(),
  z.looseObject({ name: z.string().min(1), type: z.string(), config: z.record(z.string(), z.unknown()).optional() }),
]);

/** An experiment as a file describes it, with names instead of IDs. The API, not this command, validates its values. */
const evalFile = z.strictObject({
  name: z.string().min(1),
  description: z.string().optional(),
  project: z.string(),
  version: z.number().optional(),
  dataset: z.string(),
  dataset_version: z.number().optional(),
  splits: z.array(z.string()).optional(),
  evaluators: z.array(evaluator).default([]),
  repetitions: z.number().optional(),
  max_concurrency: z.number().optional(),
  baseline: z.string().optional(),
  gates: z.array(z.looseObject({ metric: z.string(), evaluator: z.string().optional() })).default([]),
  budget: z.looseObject({}).optional(),
});
type EvalFile = z.output<typeof evalFile>;
type EvaluatorOfFile = z.output<typeof evaluator>;

/** Reads a file in YAML or JSON. Throws a CommandFailure that names it. */
export async function readEvalFile(file: string): Promise<EvalFile> {
  let content: unknown;
  try {
    content = parse(await readFile(file, "utf8"));
  } catch (error) {
    throw new CommandFailure(`${file}: ${error instanceof Error ? error.message : String(error)}`, 2, { cause: error });
  }
  const parsed = evalFile.safeParse(content);
  if (parsed.success) return parsed.data;
  const places = parsed.error.issues.map(({ path, message }) => `\n  ${path.join(".") || "the file"}: ${message}`);
  throw new CommandFailure(`${file} does not describe an experiment:${places.join("")}`, 2);
}

/** Creates the experiment that a file describes; evaluators defined in the file are created, or changed if they differ. */
export async function createFromFile(api: ApiClient, file: EvalFile): Promise<string> {
  const project_id = await idOf(api, "/v2/projects", "project_id", "project", file.project);
  const dataset_id = await idOf(api, "/v2/evals/datasets", "dataset_id", "dataset", file.dataset);
  const ids = new Map<string, string>();
  for (const each of file.evaluators) {
    const name = typeof each === "string" ? each : each.name;
    ids.set(name, typeof each === "string" ? await evaluatorId(api, each) : await settleEvaluator(api, each));
  }
  const gates = file.gates.map(({ evaluator: name, ...gate }) => {
    if (name === undefined) return gate;
    const evaluator_id = ids.get(name);
    if (evaluator_id === undefined)
      throw new CommandFailure(`The gate names ${name}, which is not one of the experiment's evaluators.`, 2);
    return { ...gate, evaluator_id };
  });
  const { experiment_id } = await api.post<{ experiment_id: string }>("/v2/evals/experiments", {
    name: file.name,
    description: file.description,
    project_id,
    flow_version: file.version,
    dataset_id,
    dataset_version: file.dataset_version,
    splits: file.splits,
    evaluator_ids: [...ids.values()],
    repetitions: file.repetitions,
    max_concurrency: file.max_concurrency,
    baseline_experiment_id: await baselineOf(api, file.baseline, { project_id, dataset_id }),
    gates,
    budget: file.budget,
  });
  return experiment_id;
}

/** The experiment to compare with: by ID, or `previous`, the last completed one of the same project and dataset. */
async function baselineOf(api: ApiClient, baseline: string | undefined, of: Query): Promise<string | null> {
  if (baseline !== "previous") return baseline ?? null;
  const query = { ...of, state: "COMPLETED", page_size: 1 };
  const { data } = await api.get<{ data: { experiment_id: string }[] }>("/v2/evals/experiments", query);
  return data[0]?.experiment_id ?? null;
}

function evaluatorId(api: ApiClient, name: string): Promise<string> {
  return idOf(api, "/v2/evals/evaluators", "evaluator_id", "evaluator", name);
}

async function settleEvaluator(api: ApiClient, { name, ...wanted }: Exclude<EvaluatorOfFile, string>): Promise<string> {
  const named = await allNamed<{ evaluator_id: string; type: string }>(api, "/v2/evals/evaluators", name);
  const found = named.find(({ type }) => type === wanted.type);
  if (found === undefined) {
    return (await api.post<{ evaluator_id: string }>("/v2/evals/evaluators", { name, ...wanted })).evaluator_id;
  }
  const { type: _, ...change } = wanted;
  const isSame = Object.entries(change).every(([member, value]) => covers(found[member as keyof typeof found], value));
  if (!isSame) await api.patch(`/v2/evals/evaluators/${found.evaluator_id}`, change);
  return found.evaluator_id;
}

/** Whether a value has all wanted fields; fields that the file omits are not compared. */
function covers(value: unknown, wanted: unknown): boolean {
  if (typeof wanted !== "object" || wanted === null) return value === wanted;
  if (Array.isArray(wanted)) {
    return Array.isArray(value) && value.length === wanted.length && wanted.every((item, i) => covers(value[i], item));
  }
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(wanted).every(([name, item]) => covers((value as Record<string, unknown>)[name], item));
}

async function idOf(api: ApiClient, path: string, member: string, what: string, name: string): Promise<string> {
  if (isUuid(name)) return name;
  const [one, other] = await allNamed<Record<string, string>>(api, path, name);
  if (one === undefined) throw new CommandFailure(`No ${what} is named ${name}.`, 2);
  if (other !== undefined) throw new CommandFailure(`Several ${what}s are named ${name}: pass the ID of one.`, 2);
  return one[member] ?? "";
}
