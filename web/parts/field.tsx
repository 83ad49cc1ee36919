import { isValidElement, useId, type JSX, type ReactNode } from "react";
import { marksIn } from "../../src/domain/marks.ts";
import "./field.css";

/** The props that a field gives its control. */
export interface FieldControl {
  readonly id: string;
  readonly "aria-describedby": string | undefined;
  readonly "aria-invalid": boolean | undefined;
}

/** Messages of an error response about one field of the request body. */
export function errorsAt(
  problem: { readonly issues: ReadonlyArray<{ readonly loc: readonly unknown[]; readonly msg: string }> } | null,
  member: string,
): string[] {
  return (problem?.issues ?? []).filter(({ loc }) => loc[1] === member).map(({ msg }) => msg);
}

/** Longest text that is repeated with visible signs; for a longer text only the signs are named. */
const SHOWN_CHARACTERS = 200;

/** Connects label, hint and error with a control for accessibility. */
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
  const control = children({
    id,
    "aria-describedby": described === "" ? undefined : described,
    "aria-invalid": errors.length > 0 ? true : undefined,
  });
  const given = isValidElement<{ readonly value?: unknown }>(control) ? control.props.value : "";
  const value = typeof given === "string" ? given : "";
  const marks = marksIn(value);
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {control}
      {marks.length > 0 && (
        <span className="small wrap" role="status">
          Contains characters that are invisible or change the text direction:{" "}
          {value.length <= SHOWN_CHARACTERS ? value : marks.join(", ")}
        </span>
      )}
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
