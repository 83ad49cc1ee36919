/** Whether this is `npm run test:long`, and not `npm test`: some files have tests for each. */
export const LONG = process.env["MILLRACE_TEST"] === "long";

/** The share of the rounds, rows and cases of long tests that is tried; `.ci/run` sets a smaller one. */
export const SHARE = Number(process.env["MILLRACE_LONG_SHARE"] ?? 1);

/** The number that is tried of this many rounds, rows or cases. */
export const shareOf = (all: number): number => Math.ceil(all * SHARE);
