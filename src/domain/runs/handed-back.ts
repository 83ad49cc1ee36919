/** The answer of local work that a process has not done, because the organisation already has its share of it. */
export interface HandedBack {
  /** When to ask again (ms): about then there will be a place. */
  readonly handed_back_ms: number;
}

export function isHandedBack<T>(result: T | HandedBack): result is HandedBack {
  return typeof result === "object" && result !== null && "handed_back_ms" in result;
}
