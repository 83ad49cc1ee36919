export { runFlow } from "./run-flow.ts";
export { runJob } from "./run-job.ts";
export { runSlice } from "./run-slice.ts";
