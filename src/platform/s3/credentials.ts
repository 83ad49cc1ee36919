import {
  containerCredentials,
  webIdentityCredentials,
  type CredentialFetch,
  type EndingCredentials,
  type S3Credentials,
} from "./role-credentials.ts";

/** Where the credentials of a request come from. */
export interface CredentialSource {
  get(): Promise<S3Credentials>;
  close(): Promise<void>;
}

/** Settings that determine which identity S3 requests use: keys, otherwise a role. */
export interface CredentialConfig {
  readonly MILLRACE_S3_ACCESS_KEY_ID?: string | undefined;
  readonly MILLRACE_S3_SECRET_ACCESS_KEY?: string | undefined;
  readonly AWS_ROLE_ARN?: string | undefined;
  readonly AWS_WEB_IDENTITY_TOKEN_FILE?: string | undefined;
  readonly AWS_ROLE_SESSION_NAME?: string | undefined;
  readonly AWS_REGION?: string | undefined;
  readonly AWS_ENDPOINT_URL_STS?: string | undefined;
  readonly AWS_CONTAINER_CREDENTIALS_FULL_URI?: string | undefined;
  readonly AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE?: string | undefined;
}

/** How long before their expiry credentials are replaced, because requests in progress and differing clocks need some of it. */
const AHEAD_MS = 5 * 60_000;
/** A refused renewal is not retried immediately while the current credentials are valid. */
const AGAIN_MS = 10_000;

/** The credential source that the settings name. `region` is the bucket's. Throws an Error if they name none. */
export function credentialsOf(config: CredentialConfig, region: string): CredentialSource {
  const accessKeyId = config.MILLRACE_S3_ACCESS_KEY_ID;
  const secretAccessKey = config.MILLRACE_S3_SECRET_ACCESS_KEY;
  if (accessKeyId !== undefined && secretAccessKey !== undefined) {
    return { get: async () => ({ accessKeyId, secretAccessKey }), close: async () => undefined };
  }
  const {
    AWS_ROLE_ARN: role,
    AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile,
    AWS_CONTAINER_CREDENTIALS_FULL_URI: url,
  } = config;
  if (role !== undefined && tokenFile !== undefined) {
    const session = config.AWS_ROLE_SESSION_NAME ?? "millrace";
    return renewing(webIdentityCredentials({ role, tokenFile, session, endpoint: stsAddress(config, region) }));
  }
  if (url !== undefined) {
    return renewing(containerCredentials(url, config.AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE));
  }
  throw new Error("No credentials for S3 are set, neither keys nor a role. See docs/operation.md, Blobs.");
}

/** The default is the region's own endpoint, because the global one is in a single remote place. */
export function stsAddress(config: CredentialConfig, bucketRegion: string): string {
  const region = config.AWS_REGION ?? bucketRegion;
  return config.AWS_ENDPOINT_URL_STS ?? `https://sts.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;
}

/** Caches credentials until shortly before they expire. Callers that need new ones at the same time share one request. */
export function renewing(role: CredentialFetch, now: () => number = Date.now): CredentialSource {
  let current: EndingCredentials | undefined;
  let coming: Promise<EndingCredentials> | undefined;
  let notBefore = 0;

  async function renew(): Promise<EndingCredentials> {
    try {
      current = await role.fetch();
      return current;
    } catch (error) {
      if (current === undefined || current.endsAt <= now()) throw error;
      notBefore = now() + AGAIN_MS;
      return current;
    } finally {
      coming = undefined;
    }
  }

  return {
    async get() {
      if (current !== undefined) {
        const left = current.endsAt - now();
        if (left > AHEAD_MS || (left > 0 && now() < notBefore)) return current;
      }
      coming ??= renew();
      return coming;
    },
    close: () => role.close(),
  };
}
