import { useId } from "react";
import type { JSX, ReactNode } from "react";

/** The props that a field gives its control. */
export interface FieldControl {
  readonly id: string;
  readonly "aria-describedby": string | undefined;
  readonly "aria-invalid": boolean | undefined;
}

/** What a refused request says of one member of its body. */
export function errorsAt(
  problem: { readonly issues: ReadonlyArray<{ readonly loc: readonly unknown[]; readonly msg: string }> } | null,
  member: string,
): string[] {
  return (problem?.issues ?? []).filter(({ loc }) => loc[1] === member).map(({ msg }) => msg);
}

/** Label, hint and error of a control, wired once. */
export function Field({
  label,
  hint,
  errors = [],
  children,
}: {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly errors?: readonly string[];
  readonly children: (control: FieldControl) => ReactNode;
}): JSX.Element {
  const id = useId();
  const described = [hint === undefined ? "" : `${id}-hint`, errors.length === 0 ? "" : `${id}-error`].join(" ").trim();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        "aria-describedby": described === "" ? undefined : described,
        "aria-invalid": errors.length > 0 ? true : undefined,
      })}
      {hint !== undefined && (
        <span id={`${id}-hint`} className="small muted wrap">
          {hint}
        </span>
      )}
      {errors.length > 0 && (
        <span id={`${id}-error`} className="small field-error" role="alert">
          {errors.join(" ")}
        </span>
      )}
    </div>
  );
}
