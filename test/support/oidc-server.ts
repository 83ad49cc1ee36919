import { generateKeyPairSync, sign } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import Provider, { type Configuration } from "oidc-provider";

/** A person who can sign in at the provider, with the claims about the person. */
export interface Person {
  readonly sub: string;
  readonly email?: string;
  readonly email_verified?: boolean;
  readonly groups?: readonly string[];
  /** Set by Entra ID when it omits the groups. */
  readonly hasgroups?: boolean;
}

/** A real OpenID provider on this machine that signs in the person chosen by the test without a prompt. */
export interface OidcServer {
  readonly issuer: string;
  readonly client_id: string;
  readonly client_secret: string;
  /** Sets the allowed redirect URIs. Before that, and while `down` is set, nothing responds. */
  register(redirectUris: readonly string[], afterSignOut?: readonly string[]): void;
  /** How often the provider prompted for a sign-in. */
  asked: number;
  /** Fields that replace those of its metadata document. */
  described: Readonly<Record<string, unknown>>;
  /** The person who signs in next; null declines. */
  person: Person | null;
  /** Changes the ID tokens that are issued from now on. */
  tamper: ((idToken: string) => string) | null;
  /** Claims that are added to its ID tokens or replace its own. */
  claims: Readonly<Record<string, unknown>>;
  down: boolean;
  /** Accepts requests without responding. */
  silent: boolean;
  /** Number of requests to a path. */
  hits(path: string): number;
  close(): Promise<void>;
}

const KEY = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
const CLIENT = { client_id: "millrace", client_secret: "a secret: of millrace/ + the provider" };

/** With `thin`, the ID token contains only the subject, and other claims come from the userinfo endpoint. */
export async function startOidcServer({ thin }: { readonly thin: boolean }): Promise<OidcServer> {
  const people = new Map<string, Person>();
  const counts = new Map<string, number>();
  let handle: ((req: IncomingMessage, res: ServerResponse) => unknown) | null = null;
  const server = createServer((req, res) => {
    const path = new URL(req.url ?? "/", "http://provider").pathname;
    counts.set(path, (counts.get(path) ?? 0) + 1);
    if (state.silent) return;
    if (handle === null || state.down) return void res.writeHead(503).end();
    const { claims, tamper } = state;
    if (path === "/token" && Object.keys(claims).length > 0) changeIdToken(res, (token) => withClaims(token, claims));
    if (path === "/token" && tamper) changeIdToken(res, tamper);
    if (path === "/.well-known/openid-configuration") changeBody(res, (body) => ({ ...body, ...state.described }));
    handle(req, res);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const state: OidcServer = {
    ...CLIENT,
    issuer,
    person: null,
    tamper: null,
    claims: {},
    down: false,
    silent: false,
    asked: 0,
    described: {},
    register(redirect_uris, afterSignOut = []) {
      const provider = new Provider(issuer, configuration(redirect_uris, afterSignOut));
      const answer = provider.callback();
      handle = async (req, res) => {
        if (!req.url?.startsWith("/interaction/")) return answer(req, res);
        const { person } = state;
        state.asked += 1;
        if (person) people.set(person.sub, person);
        const result = person
          ? { login: { accountId: person.sub } }
          : { error: "access_denied", error_description: `<script>declined</script> ${CLIENT.client_secret}` };
        return provider.interactionFinished(req, res, result);
      };
    },
    hits: (path) => counts.get(path) ?? 0,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };

  function configuration(redirect_uris: readonly string[], afterSignOut: readonly string[]): Configuration {
    return {
      clients: [{ ...CLIENT, redirect_uris: [...redirect_uris], post_logout_redirect_uris: [...afterSignOut] }],
      claims: { openid: ["sub"], email: ["email", "email_verified"], groups: ["groups", "hasgroups"] },
      conformIdTokenClaims: thin,
      cookies: { keys: ["a key of cookies"] },
      jwks: { keys: [{ ...KEY.export({ format: "jwk" }), kty: "RSA", alg: "RS256", use: "sig" }] },
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_, { uid }) => `/interaction/${uid}` },
      pkce: { required: () => true },
      findAccount: (_, sub) => ({
        accountId: sub,
        // Current claims, because a person with a session at the provider is not prompted again.
        claims: async () => ({ ...(state.person?.sub === sub ? state.person : people.get(sub)), sub }),
      }),
      // Consent always exists.
      async loadExistingGrant({ oidc }) {
        const { clientId = "" } = oidc.client ?? {};
        const earlier = await oidc.provider.Grant.find(oidc.session?.grantIdFor(clientId) ?? "");
        if (earlier) return earlier;
        const grant = new oidc.provider.Grant({ clientId, accountId: oidc.session?.accountId ?? "" });
        grant.addOIDCScope("openid email groups");
        await grant.save();
        return grant;
      },
    };
  }

  return state;
}

function changeIdToken(res: ServerResponse, tamper: (idToken: string) => string): void {
  changeBody(res, (body) => ({
    ...body,
    ...(typeof body["id_token"] === "string" && { id_token: tamper(body["id_token"]) }),
  }));
}

/** The token with other claims, signed with the provider's key. */
function withClaims(idToken: string, claims: object): string {
  const [head = "", body = ""] = idToken.split(".");
  const own = JSON.parse(Buffer.from(body, "base64url").toString()) as object;
  const signed = `${head}.${Buffer.from(JSON.stringify({ ...own, ...claims })).toString("base64url")}`;
  return `${signed}.${sign("RSA-SHA256", Buffer.from(signed), KEY).toString("base64url")}`;
}

function changeBody(res: ServerResponse, change: (body: Record<string, unknown>) => object): void {
  const end = res.end.bind(res) as (text: string) => ServerResponse;
  res.end = ((text: string) => {
    const changed = JSON.stringify(change(JSON.parse(String(text)) as Record<string, unknown>));
    res.setHeader("content-length", Buffer.byteLength(changed));
    return end(changed);
  }) as ServerResponse["end"];
}

/** A minimal browser for sign-ins: it stores cookies by host and follows redirects. */
export function cookieBrowser() {
  const jars = new Map<string, Map<string, string>>();
  const jarOf = (url: URL): Map<string, string> => {
    const jar = jars.get(url.port) ?? new Map<string, string>();
    jars.set(url.port, jar);
    return jar;
  };

  async function send(url: URL, init: RequestInit): Promise<Response> {
    const cookie = [...jarOf(url)].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, { ...init, redirect: "manual", headers: { ...init.headers, cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ""] = line.split(";", 1);
      const at = pair.indexOf("=");
      jarOf(url).set(pair.slice(0, at), pair.slice(at + 1));
    }
    return response;
  }
  const get = (url: URL): Promise<Response> => send(url, {});

  return {
    get,
    send,
    /** Follows redirects to the first URL that `stops` accepts, and does not request that one. */
    async follow(from: string, stops: (url: URL) => boolean): Promise<URL> {
      let url = new URL(from);
      for (let hops = 0; hops < 20; hops++) {
        if (stops(url)) return url;
        const response = await get(url);
        const location = response.headers.get("location");
        if (location === null) throw new Error(`${url.href} answers ${response.status}: ${await response.text()}`);
        url = new URL(location, url);
      }
      throw new Error(`no end of redirects: ${url.href}`);
    },
    cookies: (url: URL): ReadonlyMap<string, string> => jarOf(url),
  };
}
