import type { Config } from "../../config.ts";
import { Problem } from "../../domain/errors.ts";
import { baseUrl } from "../http/addresses.ts";
import type { RequestContext } from "../http/operation.ts";

const SAFE: readonly string[] = ["GET", "HEAD", "OPTIONS"];

/** Cookies for the session, and for the browser during sign-in at an identity provider. */
type CookieName = "millrace_session" | "millrace_sign_in";

/** With this prefix a browser accepts the cookie only over https, and from no other host of the domain. */
const nameFor = (name: CookieName, secure: boolean): string => (secure ? `__Host-${name}` : name);

/** Whether the configured public URL uses https. */
function isSecure(config: Config, ctx: RequestContext): boolean {
  return baseUrl(config, ctx).startsWith("https:");
}

/** The secret in a cookie of a request. */
export function secretIn(config: Config, ctx: RequestContext, cookie: CookieName): string | undefined {
  const name = `${nameFor(cookie, isSecure(config, ctx))}=`;
  const cookies = (ctx.get("Cookie") ?? "").slice(0, 16_384).split(";");
  return cookies
    .map((each) => each.trim())
    .find((each) => each.startsWith(name))
    ?.slice(name.length);
}

/** The Set-Cookie header that gives a session to the browser, or with null removes it. Scripts cannot read the cookie. */
export function sessionCookie(config: Config, ctx: RequestContext, secret: string | null): Record<string, string> {
  const age = secret === null ? ["Max-Age=0"] : [];
  return setCookie(config, ctx, "millrace_session", secret ?? "", ["SameSite=Strict"], age);
}

/**
 * The Set-Cookie header for a browser that goes to an identity provider. The cookie is Lax, because the browser returns from another site.
 */
export function browserCookie(
  config: Config,
  ctx: RequestContext,
  secret: string,
  seconds: number,
): Record<string, string> {
  return setCookie(config, ctx, "millrace_sign_in", secret, ["SameSite=Lax"], [`Max-Age=${seconds}`]);
}

function setCookie(
  config: Config,
  ctx: RequestContext,
  name: CookieName,
  value: string,
  site: readonly string[],
  age: readonly string[],
): Record<string, string> {
  const secure = isSecure(config, ctx);
  const own = [`${nameFor(name, secure)}=${value}`, "Path=/", "HttpOnly"];
  return { "Set-Cookie": [...own, ...site, ...(secure ? ["Secure"] : []), ...age].join("; ") };
}

/**
 * Throws 403 unless the request comes from a page of this origin. The browser sends the cookie with every request, so a page of another
 * site, or of another port of the same machine (which SameSite allows), must not be able to use it. A request without any origin is refused
 * too, unless `unknownIsFine`.
 */
export function requireSameOrigin(config: Config, ctx: RequestContext, { unknownIsFine = false } = {}): void {
  if (SAFE.includes(ctx.method)) return;
  const site = ctx.get("Sec-Fetch-Site");
  const origin = ctx.get("Origin");
  if (site === "" && origin === "" && unknownIsFine) return;
  if (site === "" ? isOwnOrigin(config, ctx, origin) : site === "same-origin") return;
  throw new Problem("forbidden", "With a session cookie, only pages of this Millrace can send this request.");
}

/**
 * Whether an origin is the requested host or the configured one. Browsers send no Sec-Fetch-Site to addresses without https, so this is
 * all there is to compare.
 */
export function isOwnOrigin(config: Config, ctx: RequestContext, origin: string): boolean {
  const url = URL.canParse(origin) ? new URL(origin) : null;
  return url !== null && (url.host === ctx.get("Host") || url.origin === new URL(baseUrl(config, ctx)).origin);
}
