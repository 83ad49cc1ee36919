import type { RawBody, RawRequest } from "../../api/raw-request.ts";
import type { Media, Operation, Parameter, Reference, Schema } from "../../api/reference.ts";

/** The values that the user has entered for one operation. */
export interface Draft {
  /** Keyed by `in:name`. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly mediaType: string | null;
  readonly text: string;
  readonly fields: Readonly<Record<string, string | File>>;
  readonly file: File | null;
  readonly accept: string | null;
}

export const parameterKey = ({ in: place, name }: Parameter): string => `${place}:${name}`;

export const mediaTypes = ({ body }: Operation): string[] => Object.keys(body?.content ?? {});

/** Media types of a response that the user can choose from; empty if there is only one. */
export function acceptable({ responses }: Operation): string[] {
  const types = responses.flatMap(([status, { content = {} }]) => (status.startsWith("2") ? Object.keys(content) : []));
  const unique = [...new Set(types)].filter((type) => !type.includes("*"));
  return unique.length > 1 ? unique : [];
}

export function examplesOf(media: Media | undefined): Array<readonly [name: string, value: unknown]> {
  return Object.entries(media?.examples ?? {}).map(([name, { value }]) => [name, value] as const);
}

export const exampleText = (value: unknown): string => JSON.stringify(value, null, 2);

export function startingDraft(operation: Operation): Draft {
  const [mediaType = null] = mediaTypes(operation);
  const [first] = examplesOf(operation.body?.content[mediaType ?? ""]);
  return {
    parameters: {},
    mediaType,
    text: first ? exampleText(first[1]) : "",
    fields: {},
    file: null,
    accept: null,
  };
}

export const isFile = (schema: Schema): boolean => schema.format === "binary" || schema.contentEncoding === "binary";
export const isList = (parameter: Parameter, resolve: Reference["resolve"]): boolean =>
  resolve<Schema>(parameter.schema ?? {}).type === "array";

/** The request that a draft describes. A path parameter without a value stays `{name}`. */
export function requestOf(operation: Operation, draft: Draft, resolve: Reference["resolve"]): RawRequest {
  const query = new URLSearchParams();
  const headers: Record<string, string> = {};
  let path = operation.path;
  for (const parameter of operation.parameters) {
    const value = draft.parameters[parameterKey(parameter)] ?? "";
    if (value === "") continue;
    if (parameter.in === "path") path = path.replace(`{${parameter.name}}`, encodeURIComponent(value));
    else if (parameter.in === "header") headers[parameter.name] = value;
    else
      for (const each of isList(parameter, resolve) ? value.split(",") : [value])
        query.append(parameter.name, each.trim());
  }
  if (draft.accept !== null) headers["Accept"] = draft.accept;
  const search = query.toString();
  const url = location.origin + path + (search === "" ? "" : `?${search}`);
  return { method: operation.method, url, headers, body: bodyOf(operation, draft) };
}

function bodyOf(operation: Operation, { mediaType, text, fields, file }: Draft): RawBody | null {
  if (mediaType === null || !operation.body) return null;
  if (mediaType === "application/json") return text.trim() === "" ? null : { kind: "text", type: mediaType, text };
  if (mediaType === "multipart/form-data" || mediaType === "application/x-www-form-urlencoded") {
    const given = Object.entries(fields).filter(([, value]) => value !== "");
    return { kind: "form", type: mediaType, fields: given };
  }
  return file === null ? null : { kind: "file", type: mediaType, file };
}

/** The reason why the request cannot be sent yet, or null. */
export function missing(operation: Operation, draft: Draft): string | null {
  const open = operation.parameters.filter(
    (each) => (each.in === "path" || each.required === true) && (draft.parameters[parameterKey(each)] ?? "") === "",
  );
  return open.length === 0 ? null : `Fill in ${open.map(({ name }) => name).join(", ")} first.`;
}
