import type { Config } from "../config.ts";
import type { ApiDeps, ApiServices } from "./deps.ts";
import { openApiDocument } from "./http/openapi/document.ts";
import type { Operation } from "./http/operation.ts";
import { createApiKeyOperations } from "./accounts/api-keys.ts";
import { createAuditOperations } from "./audit/audit-log.ts";
import { createActionRunOperations } from "./providers/action-runs.ts";
import { createProviderSignInOperations } from "./accounts/provider-sign-in.ts";
import { createProviderImportOperations } from "./providers/imports.ts";
import { createProviderOperations } from "./providers/providers.ts";
import { createConnectionOperations } from "./providers/connections.ts";
import { createDocsOperations } from "./system/docs.ts";
import { createKnowledgeBaseOperations } from "./knowledge/knowledge-bases.ts";
import { createDocumentOperations } from "./documents/documents.ts";
import { createDatasetOperations } from "./evals/datasets.ts";
import { createDatasetRowOperations } from "./evals/dataset-rows.ts";
import { createErasureOperations } from "./erasures/erasures.ts";
import { createDraftOperations } from "./projects/drafts.ts";
import { createEnvironmentOperations } from "./projects/environments.ts";
import { createEnvironmentReviewOperations } from "./projects/environment-reviews.ts";
import { createEvaluatorOperations } from "./evals/evaluators.ts";
import { createEvaluatorPreviewOperations } from "./evals/evaluator-previews.ts";
import { createExperimentJobOperations } from "./evals/experiment-jobs.ts";
import { createExperimentResultOperations } from "./evals/experiment-results.ts";
import { createExperimentOperations } from "./evals/experiments.ts";
import { createImportOperations } from "./evals/imports.ts";
import { createMonitorAlertOperations } from "./evals/monitor-alerts.ts";
import { createMonitorResultOperations } from "./evals/monitor-results.ts";
import { createMonitorOperations } from "./evals/monitors.ts";
import { createScoreOperations } from "./evals/scores.ts";
import { createScoringOperations } from "./evals/scorings.ts";
import { createFeedbackOperations } from "./runs/feedback.ts";
import { createFlowIoOperations } from "./projects/flow-io.ts";
import { createFlowVersionOperations } from "./projects/flow-versions.ts";
import { createEvaluationOperations } from "./projects/evaluations.ts";
import { createFlowOperations } from "./projects/flows.ts";
import { createHealthOperations } from "./system/health.ts";
import { createInferenceOperations } from "./runs/inference.ts";
import { createLimitsOperations } from "./system/limits.ts";
import { createPageConversationOperations } from "./pages/page-conversations.ts";
import { createPageDocumentOperations } from "./pages/page-documents.ts";
import { createPageGateOperations } from "./pages/page-gate.ts";
import { createPageRunOperations } from "./pages/page-runs.ts";
import { createPageOperations } from "./pages/pages.ts";
import { createPauseOperations } from "./runs/pauses.ts";
import { createCodecOperations } from "./system/codec.ts";
import { createQueueOperations } from "./system/queues.ts";
import { createRunStatisticsOperations } from "./runs/run-statistics.ts";
import { createProjectOperations } from "./projects/projects.ts";
import { createResourceOperations } from "./knowledge/resources.ts";
import { createRetentionOperations } from "./accounts/retention.ts";
import { createSessionOperations } from "./accounts/sessions.ts";
import { createSettingsOperations } from "./models/settings.ts";
import { createFiringOperations } from "./triggers/firings.ts";
import { createHookOperations } from "./triggers/hooks.ts";
import { createTriggerOperations } from "./triggers/triggers.ts";
import { createSkillOperations } from "./skills/skills.ts";
import { createSkillVersionOperations } from "./skills/skill-versions.ts";
import { createRunControlOperations } from "./runs/run-control.ts";
import { createRunJobOperations } from "./runs/run-jobs.ts";
import { createRunNodeOperations } from "./runs/run-nodes.ts";
import { createRunOperations } from "./runs/runs.ts";
import { createStreamOperations } from "./runs/stream.ts";
import { createSyncOperations } from "./knowledge/syncs.ts";
import { createToolOperations } from "./runs/tools.ts";
import { createProjectMemberOperations } from "./accounts/project-members.ts";
import { createQuotaOperations } from "./accounts/quotas.ts";
import { createTokenOperations } from "./accounts/token.ts";
import { createUploadOperations } from "./documents/uploads.ts";
import { createUserOperations } from "./accounts/users.ts";
import { createConversationOperations } from "./models/conversations.ts";
import { createUsageOperations } from "./models/usage.ts";
import { createWebhookDeliveryOperations } from "./webhooks/deliveries.ts";
import { createWebhookSubscriptionOperations } from "./webhooks/subscriptions.ts";

/** Every operation of Millrace, in the order of the document. */
export function createOperations(deps: ApiDeps, services: ApiServices): Operation[] {
  const operations: Operation[] = [
    ...createProjectOperations(deps, services),
    ...createRetentionOperations(deps),
    ...createFlowVersionOperations(deps, services),
    ...createDraftOperations(deps, services),
    ...createEnvironmentOperations(deps, services),
    ...createEnvironmentReviewOperations(deps, services),
    ...createFlowIoOperations(deps),
    ...createFlowOperations(deps, services),
    ...createPageOperations(deps, services),
    ...createPageGateOperations(deps, services),
    ...createPageRunOperations(deps, services),
    ...createPageDocumentOperations(deps, services),
    ...createPageConversationOperations(deps, services),
    ...createEvaluationOperations(deps),
    ...createInferenceOperations(deps, services),
    ...createStreamOperations(deps, services),
    ...createFeedbackOperations(deps, services),
    ...createToolOperations(deps, services),
    ...createUploadOperations(deps, services),
    ...createDocumentOperations(deps),
    ...createRunOperations(deps, services),
    ...createRunNodeOperations(deps),
    ...createRunControlOperations(deps, services),
    ...createRunJobOperations(deps),
    ...createPauseOperations(deps),
    ...createRunStatisticsOperations(deps),
    ...createKnowledgeBaseOperations(deps),
    ...createResourceOperations(deps, services),
    ...createTriggerOperations(deps, services),
    ...createFiringOperations(deps, services),
    ...createHookOperations(deps, services),
    ...createSkillOperations(deps, services),
    ...createSkillVersionOperations(deps, services),
    ...createDatasetOperations(deps),
    ...createDatasetRowOperations(deps),
    ...createImportOperations(deps),
    ...createEvaluatorOperations(deps),
    ...createEvaluatorPreviewOperations(deps),
    ...createSyncOperations(deps),
    ...createExperimentOperations(deps),
    ...createExperimentResultOperations(deps),
    ...createExperimentJobOperations(deps),
    ...createMonitorOperations(deps),
    ...createMonitorResultOperations(deps),
    ...createMonitorAlertOperations(deps),
    ...createScoreOperations(deps),
    ...createScoringOperations(deps),
    ...createWebhookSubscriptionOperations(deps),
    ...createWebhookDeliveryOperations(deps),
    ...createProviderOperations(deps),
    ...createProviderImportOperations(deps),
    ...createActionRunOperations(deps),
    ...createConnectionOperations(deps),
    ...createSettingsOperations(deps),
    ...createConversationOperations(deps),
    ...createUsageOperations(deps),
    ...createApiKeyOperations(deps, services),
    ...createQuotaOperations(deps),
    ...createProjectMemberOperations(deps, services),
    ...createUserOperations(deps, services),
    ...createTokenOperations(deps, services),
    ...createSessionOperations(deps, services),
    ...createProviderSignInOperations(deps, services),
    ...createErasureOperations(deps),
    ...createAuditOperations(deps),
    ...createLimitsOperations(deps),
    ...createQueueOperations(deps),
    ...createCodecOperations(deps, services),
    ...createHealthOperations(deps),
    ...createDocsOperations(() => openApiDocument(operations)),
  ];
  return operations;
}

/**
 * The operations without working dependencies: enough to describe them, not to serve requests. The functions that create operations only
 * store their dependencies; before the first request they read nothing but the configuration.
 */
export function describeOperations(config: Config): Operation[] {
  return createOperations({ config } as ApiDeps, {} as ApiServices);
}
