/** Whether this is `npm run test:long`, and not `npm test`: some files have tests for each. */
export const LONG = process.env["MILLRACE_TEST"] === "long";
