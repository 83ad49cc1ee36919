/** Longest address a url input takes (characters). */
export const MAX_URL_CHARS = 8192;

/** Whether a text is an absolute http or https address. */
export function isWebAddress(text: string): boolean {
  if (text.length > MAX_URL_CHARS || !URL.canParse(text)) return false;
  const { protocol } = new URL(text);
  return protocol === "http:" || protocol === "https:";
}
