import type { Files } from "./uploads.ts";
import type { InputsSchema, PageView, UploadInput } from "./shapes.ts";

interface FieldSchema {
  readonly title?: string;
  readonly description?: string;
  readonly format?: string;
  readonly "x-node-type"?: string;
}

/** The form for the inputs that are typed: files and the messages of a chat have fields of their own. */
export function formSchema({ inputs, documents, chat }: PageView): {
  readonly type: "object";
  readonly properties: Readonly<Record<string, FieldSchema>>;
  readonly required: readonly string[];
} {
  const elsewhere = new Set([...(documents ?? []).map(({ node_id }) => node_id), ...(chat ? [chat.input] : [])]);
  const properties = Object.entries((inputs?.properties ?? {}) as Readonly<Record<string, FieldSchema>>)
    .filter(([id]) => !elsewhere.has(id))
    .map(([id, schema]) => [id, withName(id, schema)] as const);
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    required: (inputs?.required ?? []).filter((id) => !elsewhere.has(id)),
  };
}

/** An input without a name has an ID that says nothing to a visitor. Texts get several lines: what they are for is not known. */
function withName(id: string, schema: FieldSchema): FieldSchema {
  const isText = schema["x-node-type"] === "string" || schema["x-node-type"] === "input";
  const title = schema.title ?? NAMES[schema["x-node-type"] ?? ""] ?? id;
  return { ...schema, title, ...(isText && schema.format === undefined && { format: "textarea" }) };
}
const NAMES: Readonly<Record<string, string>> = { input: "Your text", string: "Your text", url: "Web address" };

/** The values of inputs whose files were uploaded before: their IDs. Inputs of documents find their files themselves. */
export function valuesOf(documents: readonly UploadInput[], files: Files): Readonly<Record<string, string>> {
  const values = documents.flatMap(({ node_id, kind }) => {
    const file = files[node_id]?.[0];
    return kind === "files" || file === undefined ? [] : [[node_id, file.file_id] as const];
  });
  return Object.fromEntries(values);
}

/** The required inputs that have no file yet. */
export function missingFiles({ inputs, documents }: PageView, files: Files): string[] {
  const ids = (documents ?? []).map(({ node_id }) => node_id);
  return ids.filter((id) => inputs?.required?.includes(id) === true && (files[id] ?? []).length === 0);
}

/** The description of an input, without what it says to callers of the API. */
export function hintOf(
  { inputs }: { readonly inputs: InputsSchema | null },
  { node_id }: UploadInput,
): string | undefined {
  const text = inputs?.properties?.[node_id]?.description?.replace(/ \(uploaded with POST .*\)$/, "");
  return text === undefined || text === "Documents" ? undefined : text.endsWith(".") ? text : `${text}.`;
}
