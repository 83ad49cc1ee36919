/**
 * Files that `npm run test:long` has, and npm test has not: each starts services of its own, several or for long, and
 * shows nothing that keeps organisations apart.
 */
export const LONG_ONLY: string[] = [
  "test/api/documents/upload-backlog.test.ts",
  "test/api/erasures/unreadable-answer.test.ts",
  "test/api/evals/faults.test.ts",
  "test/api/http/shutdown.test.ts",
  "test/api/http/stopping.test.ts",
  "test/api/knowledge/embedding-outage.test.ts",
  "test/api/runs/pause-expiry.test.ts",
  "test/cli/backup.test.ts",
  "test/cli/doctor.test.ts",
  "test/cli/explain.test.ts",
  "test/cli/processes.test.ts",
  "test/kill/erasures.test.ts",
  "test/kill/outage.test.ts",
  "test/kill/poison-run.test.ts",
  "test/kill/run-jobs.test.ts",
  "test/operation/blob-role.test.ts",
  "test/operation/compose-processes.test.ts",
  "test/operation/node-quota.test.ts",
  "test/operation/read-replica.test.ts",
  "test/operation/trace-content.test.ts",
  "test/operation/trace-queue.test.ts",
  "test/operation/traces.test.ts",
  "test/operation/waiting-runs.test.ts",
  "test/operation/worker-queues.test.ts",
  "test/security/pgbouncer.test.ts",
];
