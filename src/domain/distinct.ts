/** The items without repetitions, in order of first appearance. */
export function distinct<T>(items: readonly T[]): T[] {
  return [...new Set(items)];
}

/** The words of a text, which spaces separate. */
export function words(text: string): ReadonlySet<unknown> {
  return new Set(text.split(" "));
}
