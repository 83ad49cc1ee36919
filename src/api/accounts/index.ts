import type { CreateOperations } from "../deps.ts";
import { createRetentionOperations } from "./retention.ts";
import { createApiKeyOperations } from "./api-keys.ts";
import { createQuotaOperations } from "./quotas.ts";
import { createProjectMemberOperations } from "./project-members.ts";
import { createUserOperations } from "./users.ts";
import { createTokenOperations } from "./token.ts";
import { createSessionOperations } from "./sessions.ts";
import { createProviderSignInOperations } from "./provider-sign-in.ts";

/** The operations of people, their keys and what an organisation may use. */
export const accounts: CreateOperations = [
  createRetentionOperations,
  createApiKeyOperations,
  createQuotaOperations,
  createProjectMemberOperations,
  createUserOperations,
  createTokenOperations,
  createSessionOperations,
  createProviderSignInOperations,
];
