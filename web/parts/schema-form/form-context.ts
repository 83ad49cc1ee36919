import { createContext, useContext, type ComponentType, type ReactNode } from "react";
import { pathKey, type FormErrors, type FormSchema } from "./schema.ts";

export type Path = ReadonlyArray<string | number>;
/** Sets the value at a path of the data; undefined removes the field. */
export type Change = (path: Path, value: unknown) => void;

/** The props of each part of a form. */
export interface PartProps {
  /** As the whole schema has it; a part reads it with `useSchema`. */
  readonly schema: unknown;
  readonly value: unknown;
  readonly change: Change;
  readonly label: string;
  readonly path: Path;
  readonly required: boolean;
  /** Nesting depth; beyond the limit, a schema that contains itself is edited as JSON text. */
  readonly depth: number;
  /** The language of all texts below this part. */
  readonly language?: string | undefined;
}

/** The props of the control for a schema that has been read. */
export interface ControlProps extends Omit<PartProps, "schema"> {
  readonly schema: FormSchema;
}

export interface JsonTextProps {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly errors: readonly string[];
  readonly text: string;
  readonly onChange: (text: string) => void;
}

export interface Form {
  /** The whole schema, for references. */
  readonly root: unknown;
  readonly errors: FormErrors;
  readonly warnings: FormErrors;
  /** Whether a new entry starts with the defaults of its schema. */
  readonly fillsDefaults: boolean;
  readonly Part: ComponentType<PartProps>;
  /** Control for texts with an `x-language`; a plain text field if omitted. */
  readonly Code?: ComponentType<ControlProps> | undefined;
  /** Control for a value as JSON text; a plain text field if omitted. */
  readonly JsonText?: ComponentType<JsonTextProps> | undefined;
  /** Control for texts with an `x-reference`; a plain text field if omitted. */
  readonly Reference?: ComponentType<ControlProps> | undefined;
  /** Replaces the control of a part; null for the control by its schema. */
  readonly special?: ((path: Path) => ComponentType<ControlProps> | null) | undefined;
  /** Whether a value of any type may be a template instead. */
  readonly allowsTemplates?: boolean | undefined;
  /** Fields that stand below the advanced ones of the whole form. */
  readonly more?: ReactNode;
  /** The field to show, if it is folded. */
  readonly asked?: Path | undefined;
}

export const FormContext = createContext<Form | null>(null);

export function useForm(): Form {
  const form = useContext(FormContext);
  if (form === null) throw new Error("A part of a form stands outside of a form.");
  return form;
}

/** The messages about one place of the data. */
export function useMessages(path: Path): { readonly errors: readonly string[]; readonly warnings: readonly string[] } {
  const { errors, warnings } = useForm();
  const key = pathKey(path);
  return { errors: errors.get(key) ?? [], warnings: warnings.get(key) ?? [] };
}
