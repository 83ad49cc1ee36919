/** Servers and processes that the global set-up starts once for all test files. */
export interface SharedParts {
  /** Superuser connection string of the test cluster; its database is empty. */
  readonly adminUrl: string;
  /** Name of the migrated, empty database that others are cloned from. */
  readonly template: string;
  readonly temporalAddress: string;
  /** Folder of everything the run writes: logs, blobs, process ids. Removed at the end. */
  readonly stateDir: string;
  /** One api and one worker for tests that need nothing special, or the reason why they did not start. */
  readonly service: { readonly url: string; readonly databaseUrl: string } | { readonly problem: string } | null;
}

declare module "vitest" {
  interface ProvidedContext {
    millrace: SharedParts;
  }
}
