/** The items without repetitions, in order of first appearance. */
export function distinct<T>(items: readonly T[]): T[] {
  return [...new Set(items)];
}
