import type { Schemas } from "../../api/client.ts";
import { initialData } from "../../parts/schema-form/data.ts";
import { pathKey, type FormErrors, type FormSchema } from "../../parts/schema-form/schema.ts";

export type FlowIo = Schemas["FlowIo"];
type Fields = Readonly<Record<string, unknown>>;

/** The user ID that calls with uploads start with. */
const USER_ID = "ada-1";

interface InputSchema extends FormSchema {
  readonly "x-upload"?: boolean;
  readonly "x-node-type"?: string;
}
const inputsOf = ({ inputs }: FlowIo): Readonly<Record<string, InputSchema>> =>
  (inputs["properties"] ?? {}) as Readonly<Record<string, InputSchema>>;

/** An input whose files are uploaded before the call. */
export interface UploadInput {
  readonly node_id: string;
  readonly label: string;
  readonly hint: string | undefined;
}

export function uploadInputs(io: FlowIo): UploadInput[] {
  return Object.entries(inputsOf(io)).flatMap(([node_id, schema]) =>
    schema["x-upload"] === true ? [{ node_id, label: schema.title ?? node_id, hint: schema.description }] : [],
  );
}

/** The form of a call: the inputs of the flow, and the user ID if files are uploaded. */
export function callSchema(io: FlowIo): FormSchema {
  const required = (io.inputs["required"] ?? []) as readonly string[];
  const own = Object.entries(inputsOf(io))
    .filter(([, schema]) => schema["x-upload"] !== true)
    // A node of this type receives a long text, whose lines a field of one line would join.
    .map(
      ([id, schema]) => [id, schema["x-node-type"] === "string" ? { ...schema, format: "textarea" } : schema] as const,
    );
  const user = {
    user_id: { type: "string", title: "User ID", description: "The run reads the files uploaded with this user ID." },
  };
  const hasUploads = uploadInputs(io).length > 0;
  return {
    type: "object",
    properties: { ...Object.fromEntries(own), ...(hasUploads && user) },
    required: [...required, ...(hasUploads ? ["user_id"] : [])],
  };
}

/** What the form starts with: an example of the flow, or the defaults of its inputs. */
export function startingInputs(io: FlowIo, example: number): Fields {
  const inputs = io.examples[example]?.inputs ?? (initialData(callSchema(io)) as Fields | undefined) ?? {};
  return uploadInputs(io).length > 0 ? { user_id: USER_ID, ...inputs } : inputs;
}

/** The errors of a 422 response, by the field of the form they are about. */
export function errorsIn(answer: { readonly status: number; readonly text: string | null } | null): FormErrors {
  const errors = new Map<string, string[]>();
  if (answer === null || answer.status !== 422 || answer.text === null) return errors;
  try {
    const { detail } = JSON.parse(answer.text) as { detail?: unknown };
    for (const issue of Array.isArray(detail) ? (detail as unknown[]) : []) {
      const { loc, msg } = (issue ?? {}) as { loc?: unknown; msg?: unknown };
      if (!Array.isArray(loc) || typeof msg !== "string") continue;
      const path = (loc as Array<string | number>).slice(loc[1] === "inputs" ? 2 : 1);
      const key = pathKey(path);
      errors.set(key, [...(errors.get(key) ?? []), msg]);
    }
  } catch {
    // The response is shown as it is.
  }
  return errors;
}
