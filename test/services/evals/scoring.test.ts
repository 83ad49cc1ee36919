import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkDefinition } from "../../../src/domain/evals/evaluator.ts";
import { EvaluatorError } from "../../../src/domain/evals/evaluators/kind.ts";
import type { EvalSample } from "../../../src/domain/evals/evaluators/kind.ts";
import { createEvaluation } from "../../../src/platform/evaluation/evaluation.ts";
import { judge } from "../../../src/services/evals/judge.ts";
import type { JudgeModel } from "../../../src/services/evals/judge.ts";
import { scoreRuns } from "../../../src/services/evals/score-runs.ts";
import { createScorer } from "../../../src/services/evals/scorer.ts";
import type { ScorerDeps } from "../../../src/services/evals/scorer.ts";
import type { Database } from "../../../src/stores/db.ts";
import { echo, openTenant } from "../../api/tenant.ts";
import type { ApiTenant } from "../../api/tenant.ts";

const evaluation = createEvaluation({ scoresMs: 1000 });
afterAll(() => evaluation.close());

/** What no test here scores with. */
const unused = undefined as never;
const deps: ScorerDeps = {
  evaluation,
  embedders: unused,
  sandbox: unused,
  guardedFetch: unused,
  secrets: unused,
  judge: unused,
  version: "test",
};

function definitionOf(input: Record<string, unknown>) {
  const checked = checkDefinition(input);
  if (!checked.ok) throw new Error(JSON.stringify(checked.faults));
  return checked.definition;
}

/** A model that answers with these texts, one after the other. */
const answering = (...texts: string[]): JudgeModel => ({
  async generate() {
    const text = texts.shift();
    if (text === undefined) throw new EvaluatorError("upstream_failed", "It is silent.");
    return { text, usage: { total_tokens: 10, cost_usd: 0.5 } };
  },
});

describe("a judge's answers", () => {
  const call = { org_id: "", prompt: "", signal: undefined };
  const scale = (samples: number) => definitionOf({ type: "llm_judge", config: { rubric: "r", samples } });
  const labels = [
    { label: "good", value: 1, passes: true },
    { label: "bad", value: 0 },
  ];
  const labelled = (samples: number, data_type = "categorical") =>
    definitionOf({ type: "llm_judge", config: { rubric: "r", labels, samples }, score: { data_type } });
  const good = '{"reasoning":"yes","label":"Good"}';
  const bad = '{"label":"bad"}';

  it("take the median of a scale, whatever is around the object", async () => {
    const model = answering('Well: {"score": 0.2}', '{"score":1,"reasoning":"all"}', '```json\n{"score":0.6}\n```');
    const { finding, usage } = await judge(model, scale(3), call);
    expect([finding.value, usage]).toEqual([0.6, { total_tokens: 30, cost_usd: 1.5 }]);
  });

  it("take the majority of labels", async () => {
    expect((await judge(answering(good, bad, good), labelled(3), call)).finding).toEqual({
      value: "good",
      label: "good",
      reasoning: "yes",
      passed: true,
    });
    expect((await judge(answering(bad), labelled(1, "numeric"), call)).finding.value).toBe(0);
    await expect(judge(answering(good, bad), labelled(2), call)).rejects.toMatchObject({ code: "judge_undecided" });
  });

  it("are an error where they are none, never a low score", async () => {
    await expect(judge(answering('{"score": 7}'), scale(1), call)).rejects.toMatchObject({ code: "judge_unreadable" });
    await expect(judge(answering("I cannot"), labelled(1), call)).rejects.toMatchObject({ code: "judge_unreadable" });
    await expect(judge(answering(good), labelled(2), call)).rejects.toMatchObject({ code: "upstream_failed" });
    expect(
      await judge(answering(good, bad, "?", good), labelled(5), call).catch((error: unknown) => error),
    ).toMatchObject({
      finding: { value: "good" },
    });
  });
});

describe("samples scored together", () => {
  it("lose nothing by one that costs too much", async () => {
    const scorer = createScorer(deps);
    const base: EvalSample = {
      run_id: null,
      state: "COMPLETED",
      inputs: {},
      outputs: { o: [1] },
      expected_outputs: { o: [1] },
      metadata: {},
      error: null,
      latency_ms: 1,
      cost_usd: null,
      nodes: [],
      citations: [],
    };
    const costly = { ...base, outputs: { o: Array.from({ length: 20_000 }, (_, i) => ({ i: { i: [i] } })) } };
    const evaluators = [{ type: "json_schema", config: { schema: { uniqueItems: true } } }, { type: "latency" }].map(
      (input) => ({
        evaluator_id: "",
        definition: definitionOf(input),
        secret: null,
      }),
    );
    const rows = await scorer.score("01234567-0000-7000-8000-000000000000", evaluators, [base, costly, base]);
    expect(rows.map((row) => row.map(({ value, error }) => error?.code ?? value))).toEqual([
      [true, 1],
      ["evaluator_too_costly", 1],
      [true, 1],
    ]);
  });
});

describe("scores of runs", () => {
  let tenant: ApiTenant;
  beforeAll(async () => {
    tenant = await openTenant();
  });

  const scoresOf = (database: Database) =>
    database.org(tenant.org_id, (db) =>
      db.query<{
        score_id: string;
        value: unknown;
        passed: boolean;
        error: { code: string } | null;
        monitor_id: string | null;
      }>("select score_id, value, passed, error, monitor_id, evaluator_version from scores order by evaluator_version"),
    );

  it("are made once by an evaluator's version, and again where they were errors or are asked for again", async () => {
    const project_id = await tenant.deploy(echo());
    const { body: run } = await tenant.secret.post("/v2/runs", { project_id, inputs: { "in-0": "a" }, mode: "sync" });
    const { body: made } = await tenant.secret.post("/v2/evals/evaluators", { name: "E", type: "exact_match" });
    const pin = { evaluator_id: made.evaluator_id, version: 1 };
    await tenant.withDatabase(async (db) => {
      const score = (expected: string | null, again = false) =>
        scoreRuns(
          { db, blobs: unused, scorer: createScorer(deps) },
          tenant.org_id,
          [pin],
          [{ run_id: run.run_id, ...(expected === null ? {} : { expected_outputs: { "out-0": expected } }) }],
          { again },
        );
      await score(null);
      const [error] = await scoresOf(db);
      expect(error?.error?.code).toBe("no_expected_output");
      await score("a");
      await score("b");
      const [first, ...others] = await scoresOf(db);
      expect([first?.value, first?.passed, first?.error, first?.score_id, others]).toEqual([
        true,
        true,
        null,
        error?.score_id,
        [],
      ]);
      await score("b", true);
      expect((await scoresOf(db))[0]).toMatchObject({ value: false, passed: false });
    });
  });
});
