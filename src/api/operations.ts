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
import { openApiDocument } from "./http/openapi/document.ts";
import type { Operation } from "./http/operation.ts";
import { docsOperations } from "./system/docs.ts";

/**
 * Every operation of Millrace, capability by capability in the order of the document. Only the configured bounds that are documented differ
 * between installations.
 */
export function describeOperations(config: Config): Operation[] {
  const operations: Operation[] = [
    ...projects,
    ...pages,
    ...runs(config),
    ...documents,
    ...knowledge,
    ...triggers,
    ...skills,
    ...evals,
    ...webhooks,
    ...providers(config),
    ...models,
    ...accounts,
    ...erasures,
    ...audit,
    ...system,
    ...docsOperations(() => openApiDocument(operations)),
  ];
  return operations;
}
