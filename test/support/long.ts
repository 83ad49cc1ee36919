/** Whether this is `npm run test:long` instead of `npm test`; some files have tests for each. */
export const LONG = process.env["MILLRACE_TEST"] === "long";

/** The share of rounds, rows and cases that long tests use; `.ci/run` sets a smaller one. */
export const SHARE = Number(process.env["MILLRACE_LONG_SHARE"] ?? 1);

/** The number of rounds, rows or cases to use. */
export const shareOf = (all: number): number => Math.ceil(all * SHARE);
