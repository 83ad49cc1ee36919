import { AsyncLocalStorage } from "node:async_hooks";
import type { IncomingHttpHeaders } from "node:http";
import { SealBroken } from "../secrets/seal.ts";
import type { SecretBox } from "../secrets/seal.ts";

/** What requests of runs carry, so that they are known as such where they reach our own API. */
export const CALL_HEADER = "millrace-call";

const CONTEXT = "call of a run";
/** A sealed call is shorter; nothing longer is looked at. */
const MAX_CHARS = 500;

/** The run, or the single run of an action, that makes requests. */
export interface Caller {
  readonly org_id: string;
  readonly run_id: string;
}

const callers = new AsyncLocalStorage<Caller>();

/** Does some work on behalf of a run: requests to others that the work makes are the run's. */
export function asCallOf<T>({ org_id, run_id }: Caller, work: () => T): T {
  return callers.run({ org_id, run_id }, work);
}

/** The headers that a request made now is to carry. They are sealed, and never the same twice: nobody else can read or compare them. */
export function callHeaders(box: SecretBox): Readonly<Record<string, string>> {
  const caller = callers.getStore();
  if (caller === undefined) return {};
  return { [CALL_HEADER]: box.seal(`${caller.org_id} ${caller.run_id}`, CONTEXT).toString("base64url") };
}

/**
 * What has made a request to us: the id of a run of the same organisation; "unknown" where it comes from a Millrace by its
 * User-Agent but does not say from which run, as through a proxy that drops headers; undefined for any other client.
 * A header that is not ours, or another organisation's, counts as none.
 */
export function callerOfRequest(box: SecretBox, orgId: string, headers: IncomingHttpHeaders): string | undefined {
  const sealed = headers[CALL_HEADER];
  const caller = typeof sealed === "string" && sealed.length <= MAX_CHARS ? opened(box, sealed) : undefined;
  if (caller?.org_id === orgId) return caller.run_id;
  return headers["user-agent"]?.startsWith("Millrace/") === true ? "unknown" : undefined;
}

function opened(box: SecretBox, sealed: string): Caller | undefined {
  try {
    const [org_id = "", run_id = ""] = box.open(Buffer.from(sealed, "base64url"), CONTEXT).split(" ");
    return { org_id, run_id };
  } catch (error) {
    if (error instanceof SealBroken) return undefined;
    throw error;
  }
}
