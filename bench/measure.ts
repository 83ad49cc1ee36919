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

/** Calls per second, with this many in flight. */
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

/** The measurements of one contender in one round. */
interface Round {
  readonly p50: number;
  readonly p95: number;
  readonly perSecond: number;
}

export interface Measured extends Round {
  readonly name: string;
  readonly rounds: readonly Round[];
}

/** How one contender compares with another: the median of the rounds' ratios, because in a round both had the same machine load. */
export function ratio(one: Measured, other: Measured, of: keyof Round): number {
  return median(one.rounds.map((round, at) => round[of] / (other.rounds[at]?.[of] ?? Number.NaN)));
}

/**
 * Measures contenders side by side, once they are warm: each round measures every one of them, compared ones directly after one another, so
 * that other load on the machine affects all of them. The figures are medians over the rounds.
 */
export async function compare(
  contenders: readonly Contender[],
  { rounds, calls, concurrency, load }: { rounds: number; calls: number; concurrency: number; load: number },
): Promise<Measured[]> {
  const seen = contenders.map(({ name, call }) => ({ name, call, rounds: [] as Round[] }));
  for (const { call } of contenders) await throughput(call, concurrency, load);
  for (let round = 0; round < rounds; round += 1) {
    const times: number[][] = [];
    for (const { call } of seen) times.push(await latencies(call, calls));
    for (const [at, each] of seen.entries()) {
      const perSecond = await throughput(each.call, concurrency, load);
      each.rounds.push({ p50: median(times[at] ?? []), p95: quantile(times[at] ?? [], 0.95), perSecond });
    }
  }
  const over = (all: readonly Round[], of: keyof Round): number => median(all.map((round) => round[of]));
  return seen.map(({ name, rounds: all }) => ({
    name,
    p50: over(all, "p50"),
    p95: over(all, "p95"),
    perSecond: over(all, "perSecond"),
    rounds: all,
  }));
}
