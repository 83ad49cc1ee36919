import type { Config } from "../config.ts";
import { accounts } from "./accounts/index.ts";
import { audit } from "./audit/index.ts";
import { documents } from "./documents/index.ts";
import { erasures } from "./erasures/index.ts";
import { evals } from "./evals/index.ts";
import { knowledge } from "./knowledge/index.ts";
import { models } from "./models/index.ts";
import { pages } from "./pages/index.ts";
import { projects } from "./projects/index.ts";
import { providers } from "./providers/index.ts";
import { runs } from "./runs/index.ts";
import { skills } from "./skills/index.ts";
import { system } from "./system/index.ts";
import { triggers } from "./triggers/index.ts";
import { webhooks } from "./webhooks/index.ts";
import type { ApiDeps, ApiServices } from "./deps.ts";
import { openApiDocument } from "./http/openapi/document.ts";
import type { Operation } from "./http/operation.ts";
import { createDocsOperations } from "./system/docs.ts";

/** The capabilities in the order of the document. */
const CAPABILITIES = [
  projects,
  pages,
  runs,
  documents,
  knowledge,
  triggers,
  skills,
  evals,
  webhooks,
  providers,
  models,
  accounts,
  erasures,
  audit,
  system,
];

/** Every operation of Millrace. */
export function createOperations(deps: ApiDeps, services: ApiServices): Operation[] {
  const operations = CAPABILITIES.flat().flatMap((create) => create(deps, services));
  operations.push(...createDocsOperations(() => openApiDocument(operations)));
  return operations;
}

/**
 * The operations without working dependencies: enough to describe them, not to serve requests. The functions that create operations only
 * store their dependencies; before the first request they read nothing but the configuration.
 */
export function describeOperations(config: Config): Operation[] {
  return createOperations({ config } as ApiDeps, {} as ApiServices);
}
