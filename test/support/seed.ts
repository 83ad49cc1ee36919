import fc from "fast-check";

// A setup file: properties try the same cases in every run, so that results compare between changes. MILLRACE_TEST_SEED has
// others tried.
export const SEED = Number(process.env["MILLRACE_TEST_SEED"] ?? 7);
fc.configureGlobal({ seed: SEED });
