/** What a Prefer header asks for (RFC 7240). As the RFC says, preferences that are not understood are ignored. */
export interface Preferences {
  readonly respondAsync: boolean;
  /** Seconds; absent where not asked for. */
  readonly wait?: number;
}

/** Reads a Prefer header. */
export function parsePrefer(header: string | undefined): Preferences {
  const preferences = (header ?? "").split(",").map((part) => part.split(";", 1)[0]?.trim().toLowerCase() ?? "");
  const wait = preferences
    .map((each) => /^wait\s*=\s*"?(\d{1,6})"?$/.exec(each)?.[1])
    .find((each) => each !== undefined);
  return { respondAsync: preferences.includes("respond-async"), ...(wait !== undefined && { wait: Number(wait) }) };
}
