import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import Provider from "oidc-provider";
import type { Configuration } from "oidc-provider";

/** A person whom the provider signs in, with the claims it has of them. */
export interface Person {
  readonly sub: string;
  readonly email?: string;
  readonly email_verified?: boolean;
  readonly groups?: readonly string[];
  /** As Entra ID says that it has left out the groups. */
  readonly hasgroups?: boolean;
}

/** A real OpenID provider on this machine, which signs in whom the test says without asking. */
export interface OidcServer {
  readonly issuer: string;
  readonly client_id: string;
  readonly client_secret: string;
  /** Allows these addresses to come back to; before, and while it is down, nothing is answered. */
  register(redirectUris: readonly string[], afterSignOut?: readonly string[]): void;
  /** How often somebody was asked who they are. */
  asked: number;
  /** What its description of itself has in place of what it is. */
  described: Readonly<Record<string, unknown>>;
  /** Who signs in next; null declines. */
  person: Person | null;
  /** Changes the ID tokens that it issues from now on. */
  tamper: ((idToken: string) => string) | null;
  down: boolean;
  /** Takes requests and answers none. */
  silent: boolean;
  /** Requests by path. */
  hits(path: string): number;
  close(): Promise<void>;
}

const CLIENT = { client_id: "millrace", client_secret: "a secret: of millrace/ + the provider" };

/** `thin`: the ID token has the subject alone, and the rest is at the userinfo endpoint. */
export async function startOidcServer({ thin }: { readonly thin: boolean }): Promise<OidcServer> {
  const people = new Map<string, Person>();
  const counts = new Map<string, number>();
  let handle: ((req: IncomingMessage, res: ServerResponse) => unknown) | null = null;
  const server = createServer((req, res) => {
    const path = new URL(req.url ?? "/", "http://provider").pathname;
    counts.set(path, (counts.get(path) ?? 0) + 1);
    if (state.silent) return;
    if (handle === null || state.down) return void res.writeHead(503).end();
    const { tamper } = state;
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
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_, { uid }) => `/interaction/${uid}` },
      pkce: { required: () => true },
      findAccount: (_, sub) => ({
        accountId: sub,
        // As they are now: who has a session at the provider is not asked again.
        claims: async () => ({ ...(state.person?.sub === sub ? state.person : people.get(sub)), sub }),
      }),
      // Everybody has agreed to everything.
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

function changeBody(res: ServerResponse, change: (body: Record<string, unknown>) => object): void {
  const end = res.end.bind(res) as (text: string) => ServerResponse;
  res.end = ((text: string) => {
    const changed = JSON.stringify(change(JSON.parse(String(text)) as Record<string, unknown>));
    res.setHeader("content-length", Buffer.byteLength(changed));
    return end(changed);
  }) as ServerResponse["end"];
}

/** A browser as far as sign-ins need one: it keeps cookies by host and follows redirects. */
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
    /** Follows redirects from here to the first address that `stops`, which is not asked for. */
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
