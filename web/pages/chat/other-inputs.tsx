import type { JSX } from "react";
import { toProblem } from "../../api/problem.ts";
import { labelOf, type InputField } from "../../flow/input-fields.ts";
import { Field } from "../../parts/field.tsx";

/** Inputs besides the question; they keep their values from question to question. */
export function OtherInputs({
  fields,
  values,
  onChange,
  problem,
}: {
  readonly fields: readonly InputField[];
  readonly values: Readonly<Record<string, string>>;
  readonly onChange: (values: Readonly<Record<string, string>>) => void;
  /** Why the last question was refused. */
  readonly problem: Error | null;
}): JSX.Element {
  const issues = problem === null ? [] : toProblem(problem).issues;
  const needed = fields.some(({ isRequired }) => isRequired);
  return (
    <details className="chat-others" open={needed ? true : undefined}>
      <summary className="small">Other inputs</summary>
      <div className="stack-tight">
        {fields.map((field) => (
          <Field
            key={field.id}
            label={labelOf(field)}
            {...(field.hint !== null && { hint: field.hint })}
            errors={issues.filter(({ loc }) => loc.includes(field.id)).map(({ msg }) => msg)}
          >
            {(control) => (
              <input
                className="input"
                value={values[field.id] ?? ""}
                placeholder={field.fallback ?? ""}
                onChange={(event) => onChange({ ...values, [field.id]: event.target.value })}
                {...control}
              />
            )}
          </Field>
        ))}
      </div>
    </details>
  );
}
