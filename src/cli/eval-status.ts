/** An experiment, as far as it is shown. */
export interface ExperimentView {
  readonly experiment_id: string;
  readonly name: string;
  readonly state: string;
  readonly verdict: string | null;
  readonly unscored: number | null;
  readonly error: { readonly message: string } | null;
}

interface Comparison {
  readonly diff: number | null;
  readonly ci95: readonly number[] | null;
  readonly improved: number;
  readonly regressed: number;
  readonly unchanged: number;
}

/** What the API says about an experiment. */
export interface Status {
  readonly state: string;
  readonly verdict: string | null;
  readonly counts: Readonly<Record<string, number>>;
  readonly scores: { readonly expected: number };
  readonly per_evaluator: ReadonlyArray<{
    readonly evaluator_id: string;
    readonly name: string;
    readonly n: number;
    readonly mean: number | null;
    readonly ci95: readonly number[] | null;
    readonly pass_rate: number | null;
    readonly errors: number;
    readonly expected: number;
    readonly baseline: Comparison | null;
  }>;
  readonly usage: { readonly cost_usd: number };
  readonly eta_seconds: number | null;
  readonly gates: ReadonlyArray<{
    readonly metric: string;
    readonly evaluator_id?: string | null;
    readonly op: string;
    readonly value: number;
    readonly vs: string;
    readonly observed: number | null;
    readonly passed: boolean | null;
    readonly unscored: number;
  }>;
}
