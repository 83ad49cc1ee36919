/** Result of local work that was deferred because the organisation has used its share. */
export interface HandedBack {
  /** When to try again (ms), because a slot is likely to be free then. */
  readonly handed_back_ms: number;
}

export function isHandedBack<T>(result: T | HandedBack): result is HandedBack {
  return typeof result === "object" && result !== null && "handed_back_ms" in result;
}
