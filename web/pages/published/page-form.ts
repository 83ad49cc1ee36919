import type { PageChange, PageCreate, PublishedPage } from "../../api/published-pages.ts";

/** What the dialog of a page holds: texts as they are typed. */
export interface PageForm {
  readonly kind: "form" | "chat";
  readonly environment: string;
  readonly name: string;
  /** `#rrggbb`; empty for the usual colour. */
  readonly colour: string;
  readonly welcome: string;
  /** One origin per line. */
  readonly origins: string;
  /** Local time as a date field has it; empty for never. */
  readonly expires: string;
  /** Null leaves the password of the page as it is. */
  readonly password: string | null;
  readonly limits: Readonly<Record<Limit, string>>;
  readonly pauses: readonly string[];
}

export const LIMITS = ["page", "visitor", "network"] as const;
export type Limit = (typeof LIMITS)[number];
const USUAL: Readonly<Record<Limit, string>> = { page: "60", visitor: "10", network: "30" };

export function newPage(kind: "form" | "chat", name: string): PageForm {
  return {
    kind,
    environment: "production",
    name,
    colour: "",
    welcome: "",
    origins: "",
    expires: "",
    password: "",
    limits: USUAL,
    pauses: [],
  };
}

export function formOf({
  kind,
  environment,
  look,
  origins,
  expires_at,
  rate_limits,
  ...page
}: PublishedPage): PageForm {
  return {
    kind,
    environment,
    name: look.name,
    colour: look.colour ?? "",
    welcome: look.welcome ?? "",
    origins: origins.join("\n"),
    expires: expires_at === null ? "" : localTime(expires_at),
    password: page.has_password ? null : "",
    limits: {
      page: String(rate_limits.page),
      visitor: String(rate_limits.visitor),
      network: String(rate_limits.network),
    },
    pauses: page.visitor_pauses,
  };
}

/** The members that creating and changing a page have in common. */
function common({ environment, name, colour, welcome, origins, expires, limits, pauses }: PageForm) {
  const numbers = Object.fromEntries(LIMITS.map((each) => [each, Number(limits[each])]));
  return {
    environment,
    look: { name: name.trim(), colour: colour === "" ? null : colour, welcome: welcome.trim() === "" ? null : welcome },
    origins: origins.split(/\s+/).filter((each) => each !== ""),
    expires_at: expires === "" ? null : new Date(expires).toISOString(),
    rate_limits: numbers as unknown as PublishedPage["rate_limits"],
    visitor_pauses: [...pauses],
  };
}

export function createBody(form: PageForm): PageCreate {
  const { password } = form;
  return { kind: form.kind, ...common(form), ...(password !== null && password !== "" && { password }) };
}

export function changeBody(form: PageForm, { has_password }: PublishedPage): PageChange {
  const { password } = form;
  const change = password === null || (password === "" && !has_password) ? {} : { password: password || null };
  return { ...common(form), ...change };
}

/** A time as a field of local time has it, to the minute. */
function localTime(at: string): string {
  const date = new Date(at);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
