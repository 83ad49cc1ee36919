/** Documents may hold sequences that a terminal would obey. */
export function plainText(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]/gu, "\ufffd");
}
