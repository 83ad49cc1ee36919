/** Statistics of a sample as Postgres computes them; the standard deviation is that of a sample (n - 1). */
export interface Moments {
  readonly n: number;
  readonly mean: number | null;
  readonly stddev: number | null;
}

/** The 95 % confidence interval of a mean, by Student's t; null for fewer than two values. */
export function confidenceInterval({ n, mean, stddev }: Moments): [number, number] | null {
  if (n < 2 || mean === null || stddev === null) return null;
  const half = (studentQuantile(n - 1) * stddev) / Math.sqrt(n);
  return [mean - half, mean + half];
}

/** The quantile of the normal distribution that 2.5 % of values exceed. */
const Z = 1.959_963_984_540_054;
/** From this many degrees of freedom on, the series is exact to nine digits. */
const MANY = 100;

/**
 * The two-sided 95 % quantile of Student's t with `df` degrees of freedom. Abramowitz and Stegun, Handbook of Mathematical Functions: by
 * bisection of 26.7.3 and 26.7.4 for few degrees, by 26.7.5 for many.
 */
export function studentQuantile(df: number): number {
  if (df > MANY) {
    const [z3, z5, z7] = [Z ** 3, Z ** 5, Z ** 7];
    return (
      Z +
      (z3 + Z) / (4 * df) +
      (5 * z5 + 16 * z3 + 3 * Z) / (96 * df ** 2) +
      (3 * z7 + 19 * z5 + 17 * z3 - 15 * Z) / (384 * df ** 3)
    );
  }
  let [low, high] = [0, 13];
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2;
    if (withinT(middle, df) < 0.95) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** The probability that a value is between -t and t. */
function withinT(t: number, df: number): number {
  const angle = Math.atan(t / Math.sqrt(df));
  const [sine, cosine] = [Math.sin(angle), Math.cos(angle)];
  const isOdd = df % 2 === 1;
  let term = isOdd ? cosine : 1;
  let sum = df === 1 ? 0 : term;
  for (let n = isOdd ? 3 : 2; n < df; n += 2) {
    term *= ((n - 1) / n) * cosine ** 2;
    sum += term;
  }
  return isOdd ? (2 / Math.PI) * (angle + sine * sum) : sine * sum;
}
