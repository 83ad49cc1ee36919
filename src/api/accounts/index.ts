import { retentionOperations } from "./retention.ts";
import { apiKeyOperations } from "./api-keys.ts";
import { quotaOperations } from "./quotas.ts";
import { projectMemberOperations } from "./project-members.ts";
import { userOperations } from "./users.ts";
import { tokenOperations } from "./token.ts";
import { sessionOperations } from "./sessions.ts";
import { providerSignInOperations } from "./provider-sign-in.ts";

/** The operations of people, their keys and what an organisation may use. */
export const accounts = [
  ...retentionOperations,
  ...apiKeyOperations,
  ...quotaOperations,
  ...projectMemberOperations,
  ...userOperations,
  ...tokenOperations,
  ...sessionOperations,
  ...providerSignInOperations,
];
