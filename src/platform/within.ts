/** Waits for `work`; if it takes longer than `ms`, rejects with `late`. The work itself continues. */
export async function within<T>(
  ms: number,
  work: Promise<T>,
  late = (): Error => new Error(`no response within ${ms} ms`),
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), ms);
  });
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}
