/** The preferences of a Prefer header (RFC 7240). As the RFC says, unknown preferences are ignored. */
export interface Preferences {
  readonly respondAsync: boolean;
  /** Seconds; undefined if the header sets no wait. */
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
