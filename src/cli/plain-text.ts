/** Documents may contain escape sequences that a terminal would execute. */
export function plainText(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]/gu, "\ufffd");
}
