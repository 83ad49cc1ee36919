/** Milliseconds; the median of the measurements. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Duration of sequential calls (ms each). */
export async function latencies(call: () => Promise<unknown>, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let done = 0; done < count; done += 1) {
    const start = performance.now();
    await call();
    times.push(performance.now() - start);
  }
  return times;
}

/** Calls a second, with so many under way at once. */
export async function throughput(call: () => Promise<unknown>, concurrency: number, count: number): Promise<number> {
  let left = count;
  const start = performance.now();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (left > 0) {
        left -= 1;
        await call();
      }
    }),
  );
  return (count * 1000) / (performance.now() - start);
}

export interface Contender {
  readonly name: string;
  readonly call: () => Promise<unknown>;
}

export interface Measured {
  readonly name: string;
  readonly p50: number;
  readonly p95: number;
  readonly perSecond: number;
}

/**
 * Measures contenders side by side: each round measures every one of them, so that other load on the machine affects
 * all of them; the figures are medians over the rounds.
 */
export async function compare(
  contenders: readonly Contender[],
  { rounds, calls, concurrency, load }: { rounds: number; calls: number; concurrency: number; load: number },
): Promise<Measured[]> {
  const seen = contenders.map(({ name, call }) => ({
    name,
    call,
    p50: [] as number[],
    p95: [] as number[],
    perSecond: [] as number[],
  }));
  for (const { call } of contenders) await latencies(call, 20);
  for (let round = 0; round < rounds; round += 1) {
    for (const each of seen) {
      const times = await latencies(each.call, calls);
      each.p50.push(median(times));
      each.p95.push(quantile(times, 0.95));
    }
    for (const each of seen) each.perSecond.push(await throughput(each.call, concurrency, load));
  }
  return seen.map(({ name, p50, p95, perSecond }) => ({
    name,
    p50: median(p50),
    p95: median(p95),
    perSecond: median(perSecond),
  }));
}
