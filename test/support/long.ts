/** Whether this is `npm run test:long`, and not `npm test`: some files have tests for each. */
export const LONG = process.env["MILLRACE_TEST"] === "long";

/** How much of what is tried again and again is tried; `.ci/run` tries a part. */
export const SHARE = Number(process.env["MILLRACE_LONG_SHARE"] ?? 1);

/** That share of a number of rounds, rows or cases. */
export const shareOf = (all: number): number => Math.ceil(all * SHARE);
