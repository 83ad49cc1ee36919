import { isObject } from "./access.ts";
import type { Json } from "./document.ts";

/** How an input is entered. */
type InputKind = "text" | "url" | "image" | "audio" | "files";

/** An input of the flow, by the schema that the API gives. */
export interface InputField {
  readonly id: string;
  readonly label: string;
  readonly hint: string | null;
  readonly kind: InputKind;
  readonly isRequired: boolean;
  readonly fallback: string | null;
  readonly accept: readonly string[] | null;
  readonly maxBytes: number | null;
  readonly maxLength: number | null;
}

/** The props of the control of an input. */
export interface OneInput {
  readonly field: InputField;
  readonly value: string;
  readonly errors: readonly string[];
  readonly onChange: (text: string | undefined) => void;
}

export const labelOf = ({ label, isRequired }: InputField): string => (isRequired ? label : `${label} (optional)`);

/** The inputs that a JSON Schema of a run's inputs describes. */
export function inputFields(schema: unknown): InputField[] {
  if (!isObject(schema) || !isObject(schema["properties"])) return [];
  const required = Array.isArray(schema["required"]) ? (schema["required"] as unknown[]) : [];
  return Object.entries(schema["properties"]).map(([id, property]) => {
    const described = isObject(property) ? property : {};
    const kind = kindOf(described);
    const { title, description, default: fallback, maxLength } = described;
    const [accept, maxBytes] = [described["x-accept"], described["x-max-bytes"]];
    return {
      id,
      label: typeof title === "string" && title !== "" ? title : id,
      hint: typeof description === "string" ? shortHint(description, kind) : null,
      kind,
      isRequired: required.includes(id),
      fallback: typeof fallback === "string" ? fallback : null,
      accept: Array.isArray(accept) ? (accept as string[]) : null,
      maxBytes: typeof maxBytes === "number" ? maxBytes : null,
      maxLength: typeof maxLength === "number" && kind === "text" ? maxLength : null,
    };
  });
}

function kindOf(schema: Readonly<Record<string, Json | undefined>>): InputKind {
  const media = schema["contentMediaType"];
  if (schema["x-upload"] === true) return "files";
  if (media === "image/*") return "image";
  if (media === "audio/*") return "audio";
  return schema["format"] === "uri" ? "url" : "text";
}

/** The part of a description that helps a person: the API also says how programs send a file. */
const shortHint = (description: string, kind: InputKind): string | null => {
  if (kind === "text" || kind === "url") return description;
  const text = description.replace(/^As base64.*$|\s*\((as base64|uploaded with) .*\)$/s, "").trim();
  return text === "" || text === "Documents" ? null : text;
};

/** An example of the flow: a name and inputs. */
interface Example {
  readonly name: string;
  readonly inputs: Readonly<Record<string, Json | undefined>>;
}

export function examplesOf(examples: readonly Json[] | undefined): Example[] {
  if (!Array.isArray(examples)) return [];
  return (examples as readonly Json[]).flatMap((each) =>
    isObject(each) && typeof each["name"] === "string" && isObject(each["inputs"])
      ? [{ name: each["name"], inputs: each["inputs"] }]
      : [],
  );
}

/** Values of the inputs that texts can hold, by ID. */
export function textsOf(inputs: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(inputs).flatMap(([id, value]) => (typeof value === "string" ? [[id, value]] : [])),
  );
}

/** What is wrong with a text that looks like JSON; null if nothing is, undefined if it does not look like JSON. */
export function jsonFault(text: string): string | null | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
