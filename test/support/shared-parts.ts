/** Servers and processes that the global setup starts once for all test files. */
export interface SharedParts {
  /** Superuser connection string of the test cluster; its database is empty. */
  readonly adminUrl: string;
  /** Name of the migrated, empty database that others are cloned from. */
  readonly template: string;
  readonly temporalAddress: string;
  /** Folder for everything that the test run writes: logs, blobs, process IDs. Deleted at the end. */
  readonly stateDir: string;
  /** One API and one worker for tests without special needs, or the reason why they did not start. */
  readonly service: { readonly url: string; readonly databaseUrl: string } | { readonly problem: string } | null;
}

declare module "vitest" {
  interface ProvidedContext {
    millrace: SharedParts;
  }
}
