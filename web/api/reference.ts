import { queryOptions } from "@tanstack/react-query";
import { api, unwrap } from "./client.ts";

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly title?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly contentEncoding?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}
export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: Schema;
}
export interface Media {
  readonly schema?: Schema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}
export interface ApiResponse {
  readonly description: string;
  readonly headers?: Readonly<Record<string, { readonly $ref?: string; readonly description?: string }>>;
  readonly content?: Readonly<Record<string, Media>>;
}
type Referable<T> = T | { readonly $ref: string };
interface OperationObject {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly security?: ReadonlyArray<Readonly<Record<string, unknown>>>;
  readonly parameters?: ReadonlyArray<Referable<Parameter>>;
  readonly requestBody?: { readonly required?: boolean; readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, Referable<ApiResponse>>>;
}
interface OpenApi {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly tags: ReadonlyArray<{ readonly name: string }>;
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
}

/** Summary of an operation for the list. */
export interface ListedOperation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
}
export interface Capability<Each extends ListedOperation = ListedOperation> {
  readonly name: string;
  readonly operations: readonly Each[];
}

/** The list of operations, compiled into the console so that it shows before the large document is loaded. */
declare const LISTED_OPERATIONS: readonly Capability[];
export const listedOperations = LISTED_OPERATIONS;

export interface Operation extends ListedOperation {
  readonly description: string;
  /** The credential that an operation needs: a session or a key, only a key, or none. */
  readonly credential: "session" | "key" | "none";
  readonly parameters: readonly Parameter[];
  readonly body: OperationObject["requestBody"] | undefined;
  readonly responses: ReadonlyArray<readonly [status: string, response: ApiResponse]>;
}
export interface Reference {
  readonly info: OpenApi["info"];
  readonly capabilities: ReadonlyArray<Capability<Operation>>;
  readonly byId: ReadonlyMap<string, Operation>;
  /** Replaces a `$ref` by the object it points to. */
  readonly resolve: <T>(value: T | { readonly $ref: string }) => T;
}

/** The OpenAPI document. It changes only with the version of the installation. */
export const referenceOptions = queryOptions({
  queryKey: ["reference", "detail"],
  staleTime: Infinity,
  queryFn: async () => readReference((await unwrap(api.GET("/openapi.json"))) as unknown as OpenApi),
  // The result holds functions and 1 MB of schemas, so comparing it with an earlier result is useless.
  structuralSharing: false,
});

function readReference(document: OpenApi): Reference {
  const resolve = <T>(value: T | { readonly $ref: string }): T => {
    let found: unknown = value;
    while (typeof found === "object" && found !== null && "$ref" in found && typeof found.$ref === "string") {
      const steps = found.$ref.slice(2).split("/");
      found = steps.reduce<unknown>((at, step) => (at as Record<string, unknown> | undefined)?.[step], document);
    }
    return found as T;
  };
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, given]): Operation => {
      const schemes = given.security?.flatMap((each) => Object.keys(each));
      return {
        id: given.operationId,
        method: method.toUpperCase(),
        path,
        tag: given.tags[0] ?? "Other",
        summary: given.summary,
        description: given.description,
        credential: schemes === undefined ? "none" : schemes.includes("Session") ? "session" : "key",
        parameters: (given.parameters ?? []).map(resolve),
        body: given.requestBody,
        responses: Object.entries(given.responses).map(([status, response]) => [status, resolve(response)] as const),
      };
    }),
  );
  return {
    info: document.info,
    capabilities: document.tags.map(({ name }) => ({ name, operations: operations.filter(({ tag }) => tag === name) })),
    byId: new Map(operations.map((operation) => [operation.id, operation])),
    resolve,
  };
}
