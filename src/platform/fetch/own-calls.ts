import { AsyncLocalStorage } from "node:async_hooks";
import type { IncomingHttpHeaders } from "node:http";
import { unlessBroken, type SecretBox } from "../secrets/seal.ts";

/** Headers that requests of runs carry, so that our own API recognises them. */
export const CALL_HEADER = "millrace-call";

const CONTEXT = "call of a run";
/** Every sealed header is shorter, so longer ones are ignored. */
const MAX_CHARS = 500;

/** The run, or the action run, that makes requests. */
export interface Caller {
  readonly org_id: string;
  readonly run_id: string;
}

const callers = new AsyncLocalStorage<Caller>();

/** Does some work on behalf of a run, so that outgoing requests of the work are attributed to the run. */
export function asCallOf<T>({ org_id, run_id }: Caller, work: () => T): T {
  return callers.run({ org_id, run_id }, work);
}

/** The headers for a request made now. They are sealed and different each time, so that no one else can read or compare them. */
export function callHeaders(box: SecretBox): Readonly<Record<string, string>> {
  const caller = callers.getStore();
  if (caller === undefined) return {};
  return { [CALL_HEADER]: box.seal(`${caller.org_id} ${caller.run_id}`, CONTEXT).toString("base64url") };
}

/**
 * The caller of a request to our API: the ID of a run of the same organisation; "unknown" if the User-Agent is Millrace's but the header is
 * missing, for example because a proxy dropped it; undefined for any other client. A header that was sealed elsewhere, or for another
 * organisation, is ignored.
 */
export function callerOfRequest(box: SecretBox, orgId: string, headers: IncomingHttpHeaders): string | undefined {
  const sealed = headers[CALL_HEADER];
  const caller = typeof sealed === "string" && sealed.length <= MAX_CHARS ? opened(box, sealed) : undefined;
  if (caller?.org_id === orgId) return caller.run_id;
  return headers["user-agent"]?.startsWith("Millrace/") === true ? "unknown" : undefined;
}

function opened(box: SecretBox, sealed: string): Caller | undefined {
  const call = unlessBroken(() => box.open(Buffer.from(sealed, "base64url"), CONTEXT));
  const [org_id = "", run_id = ""] = call?.split(" ") ?? [];
  return call === undefined ? undefined : { org_id, run_id };
}
