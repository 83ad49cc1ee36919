import type { Readable } from "node:stream";
import type { ParameterizedContext } from "koa";
import type { z } from "zod";
import type { ProblemCode } from "../../domain/errors.ts";
import type { Principal, Role } from "../../domain/accounts/principal.ts";
import type { AuditedRequest } from "../../domain/audit/audit.ts";
import type { ExactNumbers } from "../../domain/exact-json.ts";
import type { Audit } from "../../services/audit/audit.ts";
import type { Db } from "../../stores/db.ts";

/** What the middleware knows of a request, for the log line and the error body. */
export interface RequestState {
  requestId: string;
  /** Set once the request has been matched. */
  operationId?: string;
  /** Where traces are exported. */
  trace?: { readonly trace_id: string; readonly span_id: string };
  principal?: Principal;
  /**
   * Digest of a body that the handler has read itself: equal parts give an equal digest, whatever stands between
   * them.
   */
  bodyDigest?: string;
}
export type RequestContext = ParameterizedContext<RequestState>;

/**
 * Who may call: `none` needs no credential, `public` takes any key or user, `secret` refuses public keys.
 * Every address of `public` operations may be called from other origins' web pages.
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
   * For an answer that goes on after its request: aborts when the client has disconnected, and soon after its
   * credential has ceased to be valid. A request is checked only once, so without this a stream would stay readable
   * for as long as it lasts.
   */
  readonly streamSignal: () => AbortSignal;
  /** Whether this Idempotency-Key has been seen before with the same request; only `idempotent: "claim"` is served then. */
  readonly repeated: boolean;
  /**
   * A new UUIDv7. With an Idempotency-Key the first call answers the id kept with the key, so that a second attempt
   * finds what the first one made.
   */
  readonly newId: () => string;
  /**
   * For the transaction of an effect that replaces what an earlier attempt with the same Idempotency-Key made: throws
   * the 409 if a later attempt has taken the key over.
   */
  readonly requireHeld: (db: Db) => Promise<void>;
  /**
   * Records what the request changes. If the handler does not record a change, the audit log only says that it was
   * made.
   */
  readonly audit: Audit;
  /** Used in place of `audit` if another process makes the change and records it in its own transaction. */
  readonly handOverAudit: () => AuditedRequest;
}

export type AnswerHeaders = Readonly<Record<string, string>>;

/** A JSON answer; without `body` it is empty. */
export interface JsonAnswer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: AnswerHeaders;
  /** Nothing was changed, for example by a dry run: the audit log gets no entry. */
  readonly unchanged?: boolean;
  /** Only for `idempotent: "run"`: the run has completed, and if called again the handler gives exactly this answer. */
  readonly recoverable?: boolean;
}

/** An answer in another media type. */
export interface ContentAnswer {
  readonly status: number;
  readonly type: string;
  readonly content: string | Buffer | Readable;
  readonly headers?: AnswerHeaders;
}

/** `"written"`: the handler has written the response itself. */
export type Answer = JsonAnswer | ContentAnswer | "written";

/** One of the answers an operation documents. */
export interface Success {
  readonly description: string;
  /** The length of the JSON body; absent for an empty one. */
  readonly schema?: z.ZodType;
  /** Other media types; null where the bytes have no schema. */
  readonly content?: Readonly<Record<string, z.ZodType | null>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly links?: Readonly<Record<string, Link>>;
  readonly example?: unknown;
}

/**
 * How another operation uses a value of the answer as a parameter, e.g. `{ project_id: "$response.body#/project_id"
 * }`.
 */
export interface Link {
  readonly operationId: string;
  readonly parameters: Readonly<Record<string, string>>;
}

/** An operation that takes members of the answer, and of the request's path, under the same names. */
export function linkTo(operationId: string, members: readonly string[], ofPath: readonly string[] = []): Link {
  const parameters = [
    ...ofPath.map((name) => [name, `$request.path.${name}`]),
    ...members.map((name) => [name, `$response.body#/${name}`]),
  ];
  return { operationId, parameters: Object.fromEntries(parameters) as Link["parameters"] };
}

/** An endpoint as ONE value: the route, the validation, the documentation and the code. */
export interface OperationDefinition<
  A extends Access,
  P extends z.ZodObject,
  Q extends z.ZodObject,
  H extends z.ZodObject,
  B,
> {
  /** The operationId: unique, stable. */
  readonly id: string;
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  /** With `{name}` for parameters. */
  readonly path: `/${string}`;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  readonly auth: A;
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
   * A multipart body, which the handler reads with `readMultipart`. If `body` is also set, the request may be either;
   * `body` then has to accept undefined, which the handler gets for a multipart request.
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
  /** The JSON body may have very many members: it holds a run's inputs, a flow or an import. */
  readonly wideBody?: boolean;
  /** Never refuses the body for a member it does not know, not even for `__proto__`. */
  readonly looseBody?: boolean;
  /**
   * The body holds values that are kept unchanged: a number that reading would change becomes a text with the same
   * digits.
   */
  readonly exactNumbers?: ExactNumbers;
  readonly success: Readonly<Record<number, Success>>;
  /** Codes that the other members do not imply. */
  readonly problems?: readonly ProblemCode[];
  /** Documented instead of problem+json, e.g. the errors of RFC 6749. */
  readonly failures?: Readonly<Record<number, Success>>;
  /**
   * Whether an Idempotency-Key is honoured. true: the answer is kept and replayed. "claim": the key fixes the id that
   * `newId()` gives, and the handler runs every time (for streams, which find their run by that id); of an operation that takes
   * a multipart body, only until an answer has been kept, which is then replayed. "run": as true, but `newId()` is a run's, and where the answer
   * is marked as recoverable the handler makes it again from that run.
   */
  readonly idempotent?: boolean | "claim" | "run";
  /** The part of a body that tells a request from the first one with the same Idempotency-Key; default all. */
  readonly sameness?: (body: z.output<NonNullable<B>>) => unknown;
  /**
   * What the audit log has of a success; default "always" for everything but GET. "always" of a GET: it shows a secret or gives out
   * a whole collection. "run": nothing, as the run's own record says who has started it. "never" of another method: it changes nothing.
   */
  readonly audit?: "always" | "run" | "never";
  /**
   * The request or its answer holds a secret: the answer kept for a replay is encrypted with the caller's credential.
   */
  readonly confidential?: boolean;
  /** Named examples of the request body. */
  readonly examples?: Readonly<Record<string, unknown>>;
  handler(request: OperationRequest<A, P, Q, H, B>): Promise<Answer>;
}

/** An operation of any types, as the router, the pipeline and the document generator take it. */
export type Operation = OperationDefinition<Access, z.ZodObject, z.ZodObject, z.ZodObject, z.ZodType | undefined>;

/** Checks a definition's types against each other; a `body` for a GET or a handler reading an undeclared member do not compile. */
export function defineOperation<
  const A extends Access,
  P extends z.ZodObject = Empty,
  Q extends z.ZodObject = Empty,
  H extends z.ZodObject = Empty,
  B extends z.ZodType | undefined = undefined,
>(definition: OperationDefinition<A, P, Q, H, B>): Operation {
  return definition;
}
