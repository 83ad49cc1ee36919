import { createHash } from "node:crypto";
import type { SignInRefusal } from "../../services/accounts/provider-sign-in.ts";
import type { AnswerHeaders, ContentAnswer } from "../http/operation.ts";

/** Why no session was opened, as the page and its address say it. */
export type PageCode = SignInRefusal | "provider_unknown" | "return_path" | "rate_limited";

const REASONS: Readonly<Record<PageCode, readonly [status: number, sentence: string]>> = {
  return_path: [400, "The address to go on to is not one of the console."],
  sign_in_unknown: [
    400,
    "This sign-in has been used or has taken too long, or another browser has started it. Sign in again.",
  ],
  no_role: [403, "You are in none of the groups that may use Millrace. Ask who manages your groups."],
  groups_left_out: [403, "You are in more groups than your identity provider tells. Ask who manages your groups."],
  email_missing: [403, "Your identity provider has sent no e-mail address. Ask who manages it."],
  email_unverified: [403, "Your identity provider has not verified your e-mail address."],
  email_domain: [403, "Your e-mail address is of a domain that may not sign in here."],
  email_taken: [
    403,
    "Another user has your e-mail address already. Sign in as you did before, or ask an admin of your organisation.",
  ],
  locked_out: [403, "You are locked out. Ask an admin of your organisation."],
  provider_refused: [403, "Your identity provider has not signed you in. Sign in again, or ask who manages it."],
  provider_unknown: [404, "There is no such identity provider."],
  rate_limited: [429, "There have been too many sign-ins from your network. Try again in a minute."],
  provider_answer: [502, "Your identity provider has given an answer that cannot be trusted. Ask who manages it."],
  provider_unavailable: [502, "Your identity provider does not answer. Try again in a minute."],
  not_set_up: [503, "The organisation of this identity provider does not exist. Ask who runs Millrace."],
};

/** The statuses of pages that say why nobody is signed in. */
export const REFUSAL_STATUSES = [...new Set(Object.values(REASONS).map(([status]) => status))];

const STYLE =
  ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem}h1{font-size:1.25rem}";
const POLICY = `default-src 'none'; style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
/** Where somebody signs in. */
const CONSOLE = "/console/";

/** The page of a sign-in that has failed. Nothing in it is the provider's text. */
export function refusalPage(code: PageCode, requestId: string, headers: AnswerHeaders = {}): ContentAnswer {
  const [status, sentence] = REASONS[code];
  const body = `<h1>Not signed in</h1>
<p role="alert">${escaped(sentence)}</p>
<p><a href="${CONSOLE}">Back to the sign-in</a></p>
<p><small>Code <code>${escaped(code)}</code>, request <code>${escaped(requestId)}</code></small></p>`;
  return page(status, "Not signed in", body, headers);
}

/**
 * The page that goes on to the console. It is a page of its own, not a redirect: a browser that another site has sent here
 * leaves the session's cookie out of all that the redirect leads to.
 */
export function onwardPage(path: string, headers: AnswerHeaders): ContentAnswer {
  const body = `<h1>Signed in</h1>\n<p><a href="${escaped(path)}">Go on to the console</a></p>`;
  return page(200, "Signed in", body, { ...headers, Refresh: `0; url=${path}` });
}

function page(status: number, title: string, body: string, headers: AnswerHeaders): ContentAnswer {
  const content = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)} · Millrace</title>
<style>${STYLE}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`;
  return {
    status,
    type: "text/html; charset=utf-8",
    content,
    headers: { "Content-Security-Policy": POLICY, ...headers },
  };
}

/** A path of the console as an address has it; null for any other text. */
export function consolePath(given: string): string | null {
  // Characters that browsers read as a slash or leave out.
  if (!/^\/console(?=$|[/?#])/.test(given) || /[\\\p{Cc}]/u.test(given)) return null;
  const base = "http://console.invalid";
  const url = URL.canParse(given, base) ? new URL(given, base) : null;
  if (url === null || url.origin !== base) return null;
  const isConsole = url.pathname === "/console" || url.pathname.startsWith("/console/");
  if (!isConsole || url.pathname.startsWith("/console/session")) return null;
  return url.pathname + url.search + url.hash;
}

function escaped(text: string): string {
  const names: Readonly<Record<string, string>> = { "&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "#39" };
  return text.replaceAll(/[&<>"']/g, (character) => `&${names[character]};`);
}
