import { createHash } from "node:crypto";
import type { SignInRefusal } from "../../services/accounts/provider-sign-in.ts";
import type { AnswerHeaders, ContentAnswer } from "../http/operation.ts";

/** Why no session was opened, as a code for the page and its URL. */
export type PageCode = SignInRefusal | "provider_unknown" | "return_path" | "rate_limited";

const REASONS: Readonly<Record<PageCode, readonly [status: number, sentence: string]>> = {
  address_invalid: [400, "This URL is incomplete: a part is missing, unknown or repeated. Start the sign-in again."],
  return_path: [400, "The page to open after the sign-in is not a page of the console."],
  sign_in_unknown: [
    400,
    "This sign-in was already used, has expired, or was started in another browser. Sign in again.",
  ],
  no_role: [403, "You are not in a group that may use Millrace. Ask your identity administrator."],
  groups_left_out: [
    403,
    "Your identity provider did not send all your groups because there are too many. Ask your identity administrator.",
  ],
  email_missing: [403, "Your identity provider did not send an e-mail address. Ask your identity administrator."],
  email_unverified: [
    403,
    "Your identity provider has not verified your e-mail address. Ask your identity administrator.",
  ],
  email_domain: [403, "E-mail addresses of your domain are not allowed to sign in here."],
  email_taken: [
    403,
    "Another user already has your e-mail address. Sign in as before, or ask an admin of your organisation.",
  ],
  locked_out: [403, "Your account is disabled. Ask an admin of your organisation."],
  provider_refused: [
    403,
    "Your identity provider did not sign you in. Sign in again, or ask your identity administrator.",
  ],
  provider_unknown: [404, "This identity provider does not exist."],
  rate_limited: [429, "Too many sign-ins from your network. Try again in a minute."],
  provider_answer: [
    502,
    "Your identity provider sent a response that cannot be trusted. Ask your identity administrator.",
  ],
  provider_unavailable: [502, "Your identity provider is not responding. Try again in a minute."],
  not_set_up: [503, "The organisation of this identity provider does not exist. Ask the operator of Millrace."],
};

/** The statuses of pages that explain a failed sign-in. */
export const REFUSAL_STATUSES = [...new Set(Object.values(REASONS).map(([status]) => status))];

const STYLE =
  ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem}h1{font-size:1.25rem}";
const POLICY = `default-src 'none'; style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
/** The page where users sign in. */
const CONSOLE = "/console/";

/** The page of a failed sign-in. It contains no text of the provider. */
export function refusalPage(code: PageCode, requestId: string, headers: AnswerHeaders = {}): ContentAnswer {
  const [status, sentence] = REASONS[code];
  const body = `<h1>Not signed in</h1>\n<p role="alert">${escaped(sentence)}</p>\n<p><a href="${CONSOLE}">Back to sign-in</a></p>\n<p><small>Code <code>${escaped(code)}</code>, request <code>${escaped(requestId)}</code></small></p>`;
  return page(status, "Not signed in", body, headers);
}

/**
 * The page that leads to the console. It is a page, not a redirect, because a browser that comes from another site would omit the session's
 * cookie in every request that a redirect leads to.
 */
export function onwardPage(path: string, headers: AnswerHeaders): ContentAnswer {
  const body = `<h1>Signed in</h1>\n<p><a href="${escaped(path)}">Continue to the console</a></p>`;
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

/** Normalises a path of the console; null for any other text. */
export function consolePath(given: string): string | null {
  // Characters that browsers read as a slash or ignore.
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
