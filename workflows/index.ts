/** The workflows that a worker registers are exactly what these capabilities export. Renaming one breaks unfinished workflows. */
export * from "./documents/index.ts";
export * from "./erasures/index.ts";
export * from "./evals/index.ts";
export * from "./house/index.ts";
export * from "./knowledge/index.ts";
export * from "./providers/index.ts";
export * from "./runs/index.ts";
export * from "./triggers/index.ts";
export * from "./webhooks/index.ts";
