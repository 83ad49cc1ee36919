import type { EvaluatorDefinition, Outcome } from "../../domain/evals/evaluator.ts";
import type { EvalSample } from "../../domain/evals/evaluators/kind.ts";
import type { FlowLimits } from "../../domain/flow/definition/limits.ts";
import type { Source } from "../../domain/flow/expressions/evaluated-kinds.ts";
import type { CheckedValues, FormIssue } from "../../domain/flow/forms/form.ts";
import type { PlanNode } from "../../domain/flow/plan/types.ts";
import type { NodeResult, Scope } from "../../domain/flow/scope.ts";
import type { CheckedFlow, CheckOptions } from "../../domain/flow/validate/validate.ts";
import type { NodePart } from "../../domain/runs/run-report.ts";
import type { ValidationIssue } from "../../domain/errors.ts";
import type { Json } from "../../domain/json.ts";
import type { ImportedProvider } from "../../domain/providers/imported.ts";
import type { McpListing, ToolsSource } from "../../domain/providers/mcp/tools.ts";

/** The tasks of a child and their inputs: the body of a request, as JSON. */
export interface EvaluationInputs {
  readonly part: { readonly node: PlanNode; readonly part: NodePart; readonly scope: Scope };
  readonly sources: { readonly sources: readonly Source[]; readonly scope: Scope };
  readonly flow: { readonly flow: unknown; readonly limits: FlowLimits } & CheckOptions;
  readonly answer: { readonly form: Json; readonly data: Json };
  readonly scores: { readonly definitions: readonly EvaluatorDefinition[]; readonly samples: readonly EvalSample[] };
  readonly schema: { readonly schema: Json; readonly values: readonly Json[] };
  readonly provider: ProviderSource;
}

/** What a provider is made from. */
export type ProviderSource =
  /** A document, or its JSON or YAML text; `address` is where it came from. */
  { readonly openapi: unknown; readonly address: string | null } | (ToolsSource & { readonly mcp: McpListing });

/** A provider as it is stored, or why none can be made. */
export type MadeProvider =
  | {
      readonly ok: true;
      readonly provider: ImportedProvider["provider"];
      /** How many actions it has. */
      readonly operations: number;
      /** The actions, as the text of a jsonb value: there may be megabytes of them. */
      readonly actions: string;
    }
  | { readonly ok: false; readonly issues: readonly ValidationIssue[] };

export type EvaluationName = keyof EvaluationInputs;

/** The body of a response, as JSON. */
export interface EvaluationResults {
  readonly part: NodeResult;
  readonly sources: readonly Json[];
  readonly flow: CheckedFlow;
  readonly answer: readonly FormIssue[];
  /** For each sample, in the order of the definitions. */
  readonly scores: readonly (readonly Outcome[])[];
  readonly schema: CheckedValues;
  readonly provider: MadeProvider;
}

/** The header of a response: null, or the NodeFailure in place of a result. */
export interface EvaluationReply {
  readonly failure: { readonly code: string; readonly message: string } | null;
}
