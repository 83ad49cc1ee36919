import { useId, type JSX, type ReactNode } from "react";
import { useMessages, type ControlProps } from "./form-context.ts";

/** A description, in which texts between backticks are code. */
function Described({ text }: { readonly text: string }): JSX.Element {
  const parts = text.split("`");
  return <>{parts.map((part, at) => (at % 2 === 1 && at < parts.length - 1 ? <code key={at}>{part}</code> : part))}</>;
}

/** The description of a group of fields, below its legend. */
export function GroupHint({ text }: { readonly text: string | undefined }): JSX.Element | null {
  if (text === undefined) return null;
  return (
    <p className="small muted">
      <Described text={text} />
    </p>
  );
}

/** Description, warnings and errors of a control that has no `Field` around it, and the IDs by which they describe it. */
export function useNotes({ schema, path }: Pick<ControlProps, "schema" | "path">): {
  readonly describedBy: string | undefined;
  readonly notes: JSX.Element;
} {
  const id = useId();
  const { errors, warnings } = useMessages(path);
  const hasHint = schema.description !== undefined || warnings.length > 0;
  const ids = [...(hasHint ? [`${id}-hint`] : []), ...(errors.length > 0 ? [`${id}-error`] : [])];
  const notes = (
    <>
      {hasHint && (
        <span id={`${id}-hint`} className="small muted wrap">
          {schema.description !== undefined && <Described text={schema.description} />}
          <Warnings warnings={warnings} />
        </span>
      )}
      {errors.length > 0 && (
        <span id={`${id}-error`}>
          <Errors errors={errors} />
        </span>
      )}
    </>
  );
  return { describedBy: ids.length === 0 ? undefined : ids.join(" "), notes };
}

export function Warnings({ warnings }: { readonly warnings: readonly string[] }): JSX.Element | null {
  if (warnings.length === 0) return null;
  return (
    <span className="small field-warning" role="status">
      {warnings.join(" ")}
    </span>
  );
}

export function Errors({ errors }: { readonly errors: readonly string[] }): JSX.Element | null {
  if (errors.length === 0) return null;
  return (
    <span className="small field-error" role="alert">
      {errors.join(" ")}
    </span>
  );
}

export const labelOf = ({ schema, label, required }: Pick<ControlProps, "schema" | "label" | "required">): string =>
  required || schema.default !== undefined ? label : `${label} (optional)`;

/** A value in the text of a field. */
export const shownValue = (value: unknown): string =>
  (typeof value === "string" ? value : (JSON.stringify(value) ?? "")).slice(0, 80);

/** What is used if a field is left empty, for its placeholder. */
export function emptyText({ schema }: Pick<ControlProps, "schema">): string | undefined {
  const { default: value, examples = [] } = schema;
  if (value !== undefined && typeof value !== "object") return `Default: ${shownValue(value)}`;
  const [example] = examples;
  return typeof example === "string" || typeof example === "number" ? `For example ${shownValue(example)}` : undefined;
}

/** The props of the field around a control. */
export function useFieldProps(props: ControlProps): {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly errors: readonly string[];
} {
  const { description } = props.schema;
  const { errors, warnings } = useMessages(props.path);
  const hint = (
    <>
      {description !== undefined && <Described text={description} />}
      <Warnings warnings={warnings} />
    </>
  );
  const isEmpty = description === undefined && warnings.length === 0;
  return { label: labelOf(props), ...(!isEmpty && { hint }), errors };
}
