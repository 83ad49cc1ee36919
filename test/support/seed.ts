import fc from "fast-check";

// A setup file: property tests use the same cases in every run, so that results can be compared between changes.
// MILLRACE_TEST_SEED selects other cases.
export const SEED = Number(process.env["MILLRACE_TEST_SEED"] ?? 7);
fc.configureGlobal({ seed: SEED });
