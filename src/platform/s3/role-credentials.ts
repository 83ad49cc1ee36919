import { readFile } from "node:fs/promises";
import { FetchFailed } from "../fetch/guarded-fetch-errors.ts";
import type { GuardedResponse, StreamRequest } from "../fetch/guarded-fetch.ts";
import { createOwnFetch } from "../fetch/own-fetch.ts";
import { elementsOf, textOf } from "./answers.ts";
import { waitAfter } from "./try-again.ts";

// These are two unsigned requests: Amazon's own packages for them take 14 and 15 MB, and bring an HTTP client that would bypass our rules
// for outbound requests.

/** The credentials that S3 accepts. */
export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Set for credentials that expire. */
  readonly sessionToken?: string;
}

export interface EndingCredentials extends S3Credentials {
  readonly endsAt: number;
}

/** Fetches credentials, and closes the connections it uses for that. */
export interface CredentialFetch {
  fetch(): Promise<EndingCredentials>;
  close(): Promise<void>;
}

/** Thrown if a role provides no credentials. The message may be logged: it names files, roles and URLs, but no secret. */
export class NoCredentials extends Error {
  /** Whether a retry may succeed. */
  readonly retryable: boolean;

  constructor(message: string, options: { readonly retryable?: boolean } = {}) {
    super(message);
    this.name = "NoCredentials";
    this.retryable = options.retryable ?? false;
  }
}

export interface WebIdentity {
  readonly role: string;
  /** The file is read again each time, because Kubernetes replaces its content. */
  readonly tokenFile: string;
  readonly session: string;
  /** Address of STS. */
  readonly endpoint: string;
}

const ATTEMPTS = 3;
const LIMITS = { headersMs: 10_000, bodyMs: 10_000, totalMs: 20_000, responseBytes: 256 * 1024 };
/**
 * Error codes of STS for temporary failures, in addition to its status: it could not reach the issuer of the token, or gets too many
 * requests.
 */
const PASSING = /^(?:IDPCommunicationError|Throttling\w*|RequestLimitExceeded|InternalFailure|ServiceUnavailable)$/;

/** Credentials of a role that a Kubernetes token gives access to (STS, AssumeRoleWithWebIdentity). */
export function webIdentityCredentials({ role, tokenFile, session, endpoint }: WebIdentity): CredentialFetch {
  const own = createOwnFetch([], [endpoint]);
  return {
    async fetch() {
      const token = await readToken(tokenFile);
      const form = new URLSearchParams({
        Action: "AssumeRoleWithWebIdentity",
        Version: "2011-06-15",
        RoleArn: role,
        RoleSessionName: session,
        WebIdentityToken: token,
      });
      const request = {
        url: endpoint,
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded", accept: "application/xml" },
        body: Buffer.from(form.toString()),
      };
      const what = `${origin(endpoint)} returned no credentials for the role ${role} and the token in ${tokenFile}`;
      return asked(own.fetch, request, what, (text, ok) => {
        const [found = ""] = elementsOf(text, ok ? "Credentials" : "Error");
        const of = (name: string): string => textOf(found, name) ?? "";
        if (!ok) return { code: of("Code"), message: of("Message").replaceAll(token, "…") };
        return credentials(of("AccessKeyId"), of("SecretAccessKey"), of("SessionToken"), of("Expiration"));
      });
    },
    close: () => own.close(),
  };
}

/** Credentials from the endpoint that serves the containers of a machine (EKS Pod Identity, ECS). */
export function containerCredentials(url: string, tokenFile: string | undefined): CredentialFetch {
  const own = createOwnFetch([], [url]);
  return {
    async fetch() {
      const headers = tokenFile === undefined ? {} : { authorization: await readToken(tokenFile) };
      const from = tokenFile === undefined ? "" : ` for the token in ${tokenFile}`;
      return asked(own.fetch, { url, headers }, `${origin(url)} returned no credentials${from}`, (text, ok) => {
        const found = parsed(text);
        const of = (name: string): string => (typeof found[name] === "string" ? found[name] : "");
        if (!ok) return { code: of("code"), message: of("message") };
        return credentials(of("AccessKeyId"), of("SecretAccessKey"), of("Token"), of("Expiration"));
      });
    },
    close: () => own.close(),
  };
}

interface Refusal {
  readonly code: string;
  readonly message: string;
}

async function asked(
  fetch: (request: StreamRequest) => Promise<GuardedResponse>,
  request: StreamRequest,
  what: string,
  read: (text: string, ok: boolean) => EndingCredentials | Refusal,
): Promise<EndingCredentials> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { status, body } = await fetch({ ...request, redirects: 0, limits: LIMITS });
      const answer = read(body.toString(), status === 200);
      if ("endsAt" in answer) return answer;
      const said = [String(status), answer.code, answer.message.slice(0, 500)].filter((each) => each !== "");
      const retryable = status >= 500 || status === 429 || PASSING.test(answer.code);
      throw new NoCredentials(`${what}: ${said.join(" ")}`, { retryable });
    } catch (caught) {
      const error =
        caught instanceof FetchFailed
          ? new NoCredentials(`${what}: ${caught.message}`, { retryable: caught.retryable })
          : caught;
      if (attempt === ATTEMPTS || !(error instanceof NoCredentials) || !error.retryable) throw error;
    }
    await waitAfter(attempt);
  }
}

function credentials(
  accessKeyId: string,
  secretAccessKey: string,
  sessionToken: string,
  end: string,
): EndingCredentials | Refusal {
  const endsAt = Date.parse(end);
  if ([accessKeyId, secretAccessKey, sessionToken].includes("") || Number.isNaN(endsAt)) {
    return { code: "", message: "the response contains no usable credentials" };
  }
  return { accessKeyId, secretAccessKey, sessionToken, endsAt };
}

async function readToken(file: string): Promise<string> {
  try {
    const token = (await readFile(file, "utf8")).trim();
    if (token !== "") return token;
  } catch (error) {
    throw new NoCredentials(`Cannot read the token file ${file}: ${(error as NodeJS.ErrnoException).code ?? ""}`);
  }
  throw new NoCredentials(`The token file ${file} is empty`);
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    return {};
  }
}

const origin = (url: string): string => new URL(url).origin;
