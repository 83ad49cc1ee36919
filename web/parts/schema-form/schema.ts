/** As much of JSON Schema as decides which control is shown; the service checks all of it. */
export interface FormSchema {
  readonly type?: string | readonly string[];
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly contentEncoding?: string;
  readonly contentMediaType?: string;
  readonly properties?: Readonly<Record<string, FormSchema>>;
  readonly required?: readonly string[];
  readonly items?: FormSchema;
}

/** Errors, by the path in the data. */
export type FormErrors = ReadonlyMap<string, readonly string[]>;
export const pathKey = (path: ReadonlyArray<string | number>): string => JSON.stringify(path);

/** The props of each control of a form. */
export interface PartProps {
  readonly schema: FormSchema;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly label: string;
  readonly path: ReadonlyArray<string | number>;
  readonly errors: FormErrors;
  readonly required: boolean;
  /** How deep it is nested; a schema that contains itself becomes a text of JSON. */
  readonly depth: number;
}

/** The data a form begins with: its defaults. */
export function initialData(schema: FormSchema, isOptional = false): unknown {
  if (schema.default !== undefined) return schema.default;
  if (schema.const !== undefined) return schema.const;
  if (schema.properties === undefined) return undefined;
  const members = Object.entries(schema.properties).flatMap(([name, member]) => {
    const value = initialData(member, schema.required?.includes(name) !== true);
    return value === undefined ? [] : [[name, value] as const];
  });
  return isOptional && members.length === 0 ? undefined : Object.fromEntries(members);
}

/** The data as it is sent. A box that nobody has ticked says no: where an answer is required, that is it. */
export function completed(schema: FormSchema, value: unknown): unknown {
  if (isCheck(schema)) return value ?? false;
  if (Array.isArray(value)) return value.map((item) => completed(schema.items ?? {}, item));
  if (schema.properties === undefined || typeof value !== "object" || value === null) return value;
  const data = value as Readonly<Record<string, unknown>>;
  const members = Object.entries(schema.properties).flatMap(([name, member]) => {
    const isSent = Object.hasOwn(data, name) || (schema.required?.includes(name) === true && isCheck(member));
    return isSent ? [[name, completed(member, data[name])] as const] : [];
  });
  return { ...data, ...Object.fromEntries(members) };
}

const isCheck = (schema: FormSchema): boolean => typeOf(schema) === "boolean" && schema.enum === undefined;

/** Of several types the first that is not null. */
export function typeOf({ type }: FormSchema): string | undefined {
  return typeof type === "string" ? type : type?.find((each) => each !== "null");
}

/** Whether a text is a file, as base64: its bytes have no other place in JSON. */
export const isFile = ({ contentEncoding, format }: FormSchema): boolean =>
  contentEncoding === "base64" || format === "byte";

export const isMarkdown = ({ format, contentMediaType }: FormSchema): boolean =>
  format === "markdown" || contentMediaType === "text/markdown";

/** What the field around a control says. */
export function fieldOf({ schema, label, path, errors, required }: PartProps) {
  return {
    label: required ? label : `${label} (optional)`,
    ...(schema.description !== undefined && { hint: schema.description }),
    errors: errors.get(pathKey(path)) ?? [],
  };
}
