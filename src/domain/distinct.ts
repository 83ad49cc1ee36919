/** Each once, in their order. */
export function distinct<T>(items: readonly T[]): T[] {
  return [...new Set(items)];
}
