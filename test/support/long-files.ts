/**
 * Files that `npm run test:long` has, and npm test has not: each starts services of its own, several or for long, and
 * shows nothing that guards an organisation.
 */
export const LONG_ONLY: string[] = [
  "test/api/documents/upload-backlog.test.ts",
  "test/api/evals/faults.test.ts",
  "test/api/knowledge/embedding-outage.test.ts",
  "test/cli/doctor.test.ts",
  "test/cli/explain.test.ts",
  "test/cli/processes.test.ts",
  "test/kill/outage.test.ts",
  "test/operation/trace-queue.test.ts",
  "test/operation/traces.test.ts",
  "test/operation/worker-queues.test.ts",
];
