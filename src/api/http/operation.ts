import type { Readable } from "node:stream";
import type { ParameterizedContext } from "koa";
import type { z } from "zod";
import type { Problem, ProblemCode } from "../../domain/errors.ts";
import type { Principal, Role } from "../../domain/accounts/principal.ts";
import type { AuditedRequest } from "../../domain/audit/audit.ts";
import type { Audit } from "../../services/audit/audit.ts";
import type { Db } from "../../stores/db.ts";
import type { HandlerDeps } from "../deps.ts";

/** What middleware knows of a request, for the log line and the error body. */
export interface RequestState {
  requestId: string;
  /** Set once the request has been matched. */
  operationId?: string;
  /** Set if traces are exported. */
  trace?: { readonly trace_id: string; readonly span_id: string };
  principal?: Principal;
  /** Digest of a body that the handler has read itself: equal parts give an equal digest, whatever separates them. */
  bodyDigest?: string;
}
export type RequestContext = ParameterizedContext<RequestState>;

/**
 * Who may call: `none` needs no credential, `public` accepts any key or user, `secret` refuses public keys. Web pages of any origin may
 * call `public` operations.
 */
export type Access = "none" | "public" | "secret";

type Empty = z.ZodObject<Record<never, never>>;
type BodyOf<B> = B extends z.ZodType ? z.output<B> : undefined;

/** A request whose every part has been validated. */
export interface OperationRequest<
  A extends Access,
  P extends z.ZodObject,
  Q extends z.ZodObject,
  H extends z.ZodObject,
  B,
> {
  readonly params: z.output<P>;
  readonly query: z.output<Q>;
  /** Only the declared ones, by lower-case name. */
  readonly headers: z.output<H>;
  readonly body: BodyOf<B>;
  readonly principal: A extends "none" ? null : Principal;
  /** For handlers that read or write the bytes themselves (multipart, event streams). */
  readonly ctx: RequestContext;
  readonly requestId: string;
  /** Aborts when the client has disconnected. */
  readonly signal: AbortSignal;
  /**
   * For a response that continues after its request was read: aborts when the client has disconnected, and soon after its credential
   * becomes invalid. A request is checked only once, so without this a stream would stay readable as long as it lasts.
   */
  readonly streamSignal: () => AbortSignal;
  /** Whether this Idempotency-Key was used before with the same request; only `idempotent: "claim"` serves such a request. */
  readonly repeated: boolean;
  /**
   * A new UUIDv7. With an Idempotency-Key the first call returns the ID stored with the key, so that a second attempt finds what the first
   * one made.
   */
  readonly newId: () => string;
  /**
   * Call it in the transaction of an effect that replaces what an earlier attempt with the same Idempotency-Key made: throws the 409 if a
   * later attempt has taken the key over.
   */
  readonly requireHeld: (db: Db) => Promise<void>;
  /** Records what the request changes. If the handler does not record a change, the audit log only says that the request was made. */
  readonly audit: Audit;
  /** Used instead of `audit` if another process makes the change and records it in its own transaction. */
  readonly handOverAudit: () => AuditedRequest;
}

export type AnswerHeaders = Readonly<Record<string, string>>;

/** A JSON response; empty without `body`. */
export interface JsonAnswer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: AnswerHeaders;
  /** Whether nothing was changed, for example by a dry run; then the audit log gets no entry. */
  readonly unchanged?: boolean;
  /** Only for `idempotent: "run"`: the run has completed, and a later call of the handler returns exactly this response. */
  readonly recoverable?: boolean;
}

/** A response in another media type. */
export interface ContentAnswer {
  readonly status: number;
  readonly type: string;
  readonly content: string | Buffer | Readable;
  readonly headers?: AnswerHeaders;
}

/** `"written"`: the handler has written the response itself. */
export type Answer = JsonAnswer | ContentAnswer | "written";

/** One of the documented responses of an operation. */
export interface Success {
  readonly description: string;
  /** Schema of the JSON body; undefined for an empty one. */
  readonly schema?: z.ZodType;
  /** Other media types; null if the bytes have no schema. */
  readonly content?: Readonly<Record<string, z.ZodType | null>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly links?: Readonly<Record<string, Link>>;
  readonly example?: unknown;
}

type Successes = Readonly<Record<number, Success>>;

/** How another operation uses a value of the response as a parameter, e.g. `{ project_id: "$response.body#/project_id" }`. */
export interface Link {
  readonly operationId: string;
  readonly parameters: Readonly<Record<string, string>>;
}

/** The documented response of an operation that creates a resource. */
export function created(
  description: string,
  schema: z.ZodType,
  links: NonNullable<Success["links"]>,
  headers: Success["headers"] = {},
): Success {
  return { description, schema, headers: { Location: "URL of the created resource.", ...headers }, links };
}

/** An operation that takes fields of the response, and of the request's path, under the same names. */
export function linkTo(operationId: string, members: readonly string[], ofPath: readonly string[] = []): Link {
  const parameters = [
    ...ofPath.map((name) => [name, `$request.path.${name}`]),
    ...members.map((name) => [name, `$response.body#/${name}`]),
  ];
  return { operationId, parameters: Object.fromEntries(parameters) as Link["parameters"] };
}

/** The same as the only link of a response, under the operation's name. */
export function linksTo(
  operationId: string,
  members: readonly string[],
  ofPath?: readonly string[],
): Record<string, Link> {
  return { [operationId]: linkTo(operationId, members, ofPath) };
}

type Method = "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
type Path = `/${string}`;

/**
 * An endpoint as ONE value: the route, the validation, the documentation and the code. The code gets the dependencies with each request, so
 * that an operation is described without them.
 */
export interface OperationDefinition<
  A extends Access,
  P extends z.ZodObject,
  Q extends z.ZodObject,
  H extends z.ZodObject,
  B,
  D,
  S extends Successes,
> {
  /** The operationId: unique and stable. */
  readonly id: string;
  /** Method and path, with `{name}` for parameters. */
  readonly route: `${Method} ${Path}`;
  readonly tag?: string;
  readonly summary: string;
  readonly description: string;
  readonly auth?: A;
  /**
   * For `auth: "none"` with a check of its own: throws for callers that are not allowed, before the body is read. `count` counts one
   * request of a caller against the rate limit, and throws the 429.
   */
  admit?(ctx: RequestContext, count: (caller: string) => Promise<void>, deps: D): Promise<void>;
  /** For operations of published pages, whether callers send the handle of a visitor. */
  readonly visitor?: "required" | "optional";
  /** The lowest role that may call it; default viewer for GET, editor for the others. Does not apply to public keys. */
  readonly role?: Role;
  readonly params?: P;
  /** Undeclared parameters are refused, unless `looseQuery`. */
  readonly query?: Q;
  readonly looseQuery?: boolean;
  readonly headers?: H;
  /** Schema of a JSON body. One that accepts undefined makes the body optional. */
  readonly body?: B;
  /**
   * A multipart body, which the handler reads with `readMultipart`. If `body` is also set, the request may have either type; `body` then
   * has to accept undefined, which the handler gets for a multipart request.
   */
  readonly multipart?: z.ZodObject;
  /**
   * The media type of a body that the handler reads itself, with `readBody` or `readJson`. It can be combined with
   * `body` and `multipart`, under the same rule.
   */
  readonly bytes?: string;
  /** A form-encoded body, which the handler reads with `readForm`. */
  readonly form?: z.ZodObject;
  /** Which configured limit applies to the JSON body; default "json". */
  readonly bodyLimit?: "json" | "run";
  /** The JSON body may have very many fields, because it contains a run's inputs, a flow or an import. */
  readonly wideBody?: boolean;
  /** Never refuses the body for an unknown field, not even for `__proto__`. */
  readonly looseBody?: boolean;
  /** The path in the body to the inputs of a run, which are texts: see ReadJsonOptions. */
  readonly textsIn?: readonly string[];
  readonly success: S;
  /** Error codes that the other fields do not imply. */
  readonly problems?: readonly ProblemCode[];
  /** Documented instead of problem+json, e.g. the errors of RFC 6749. */
  readonly failures?: Successes;
  /** For URLs that people open in a browser: the page that is returned for an invalid request, instead of JSON. */
  invalidPage?(ctx: RequestContext, problem: Problem, deps: D): ContentAnswer;
  /**
   * Whether an Idempotency-Key is honoured. true: the response is stored and replayed. "claim": the key fixes the ID that `newId()`
   * returns, and the handler runs every time (for streams, which find their run by that ID); for an operation with a multipart body, only
   * until a response has been stored, which is then replayed. "run": like true, but `newId()` is a run's, and if the response is marked as
   * recoverable the handler makes it again from that run.
   */
  readonly idempotent?: boolean | "claim" | "run";
  /** The part of a body by which a request is compared with the first one with the same Idempotency-Key; default all of it. */
  sameness?(body: z.output<NonNullable<B>>): unknown;
  /**
   * When a success is recorded in the audit log; default "always" for everything but GET. "always" for a GET: it shows a secret or returns
   * a whole collection. "run": not recorded, because the record of the run or the draft names the caller. "never" for another method: it
   * changes nothing.
   */
  readonly audit?: "always" | "run" | "never";
  /** The field of the response with the ID of what was created, for audit entries that the handler does not write itself; default: the path's last ID. */
  readonly createdId?: string;
  /** The request or its response contains a secret: the response stored for a replay is encrypted with the caller's credential. */
  readonly confidential?: boolean;
  /** Named examples of the request body. */
  readonly examples?: Readonly<Record<string, unknown>>;
  /** Nothing is the empty 204, if the operation declares that. */
  handler(request: OperationRequest<A, P, Q, H, B>, deps: D): Promise<Answer | (204 extends keyof S ? void : never)>;
}

type AnyDefinition = OperationDefinition<
  Access,
  z.ZodObject,
  z.ZodObject,
  z.ZodObject,
  z.ZodType | undefined,
  unknown,
  Successes
>;

/** An operation with any types, as the router, the pipeline and the document generator use it. */
export interface Operation extends AnyDefinition {
  readonly method: Method;
  readonly path: Path;
  readonly tag: string;
  readonly auth: Access;
  /** What its functions get as `deps`. */
  readonly depsOf: (deps: HandlerDeps) => unknown;
}

/** What operations have in common; each may replace it. */
interface Common<A extends Access> extends Pick<
  AnyDefinition,
  "role" | "visitor" | "audit" | "problems" | "looseQuery"
> {
  readonly tag: string;
  readonly auth: A;
  admit?(ctx: RequestContext, count: (caller: string) => Promise<void>, deps: HandlerDeps): Promise<void>;
}

/**
 * Returns the function that defines operations with something in common. `build` makes what their handlers get besides the dependencies, once
 * for the dependencies of a process. A definition's types are checked against each other: a `body` for a GET, or a handler that reads an
 * undeclared field, does not compile.
 */
export function operationsOf<const CommonAccess extends Access, Parts extends object = Record<never, never>>(
  common: Common<CommonAccess>,
  build?: (deps: HandlerDeps) => Parts,
) {
  type D = HandlerDeps & Parts;
  const built = new WeakMap<HandlerDeps, D>();
  const depsOf = (deps: HandlerDeps): D => {
    const made = built.get(deps) ?? ({ ...deps, ...build?.(deps) } as D);
    built.set(deps, made);
    return made;
  };
  return <
    const A extends Access = CommonAccess,
    P extends z.ZodObject = Empty,
    Q extends z.ZodObject = Empty,
    H extends z.ZodObject = Empty,
    B extends z.ZodType | undefined = undefined,
    const S extends Successes = Successes,
  >(
    definition: OperationDefinition<A, P, Q, H, B, D, S>,
  ): Operation => {
    const [method, path] = definition.route.split(" ") as [Method, Path];
    return { ...common, ...definition, method, path, depsOf };
  };
}
