import type { Config } from "../../../config.ts";
import { directoryOf } from "../../../platform/blobs/blob-place.ts";
import { existingMasterKeys } from "../../../platform/secrets/master-key.ts";
import { createSecretBox } from "../../../platform/secrets/seal.ts";
import type { Database } from "../../../stores/db.ts";
import { adviceOnNamespace } from "../../../temporal/address.ts";
import { examineTemporal, withSchedules } from "../../../temporal/examine.ts";
import type { TemporalDenied } from "../../../temporal/examine.ts";
import { allSchedules } from "../../schedules/all-schedules.ts";
import { compareSchedules } from "../../schedules/compare.ts";
import { createPayloads } from "../../secrets/payloads.ts";
import { ok, problem, reasonOf, warning } from "./finding.ts";
import type { Finding } from "./finding.ts";

export async function temporal(config: Config): Promise<Finding[]> {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace } = config;
  const seen = await examineTemporal(config);
  if ("unreachable" in seen) return [denied(config, "unreachable", seen.unreachable)];
  if ("refused" in seen) return [denied(config, "refused", seen.refused)];
  const described = ok("Temporal", `${seen.version} at ${address}, namespace ${namespace}`);
  const idle = seen.queues.filter(({ pollers }) => pollers === 0);
  const waiting = seen.queues.filter(({ backlog }) => (backlog ?? 0) > 0);
  const findings = idle.map(({ name, type, backlog }) =>
    problem(
      "Task queue",
      `nobody polls the ${type} tasks of ${name}${backlog ? `, and ${backlog} wait` : ""}`,
      "Start a worker (`millrace worker`) with the same MILLRACE_TASK_QUEUE.",
    ),
  );
  for (const { name, type, pollers, backlog, backlog_age_seconds: age } of waiting) {
    if (pollers > 0 && (age ?? 0) > 60)
      findings.push(
        warning(
          "Task queue",
          `${backlog} ${type} tasks of ${name} wait, the oldest for ${Math.round(age ?? 0)} s`,
          "Add workers.",
        ),
      );
  }
  const processes = Math.max(0, ...seen.queues.map(({ pollers }) => pollers));
  return findings.length > 0
    ? [described, fairness(seen.fair), ...findings]
    : [
        described,
        fairness(seen.fair),
        ok("Task queues", `${seen.queues.length} polled, by up to ${processes} processes; no backlog`),
      ];
}

/** Temporal does not answer, or does not serve the namespace. */
export function denied(config: Config, why: TemporalDenied["why"], reason: string): Finding {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace } = config;
  return why === "unreachable"
    ? problem(
        "Temporal",
        `${address}: ${reason}`,
        "Start it, or correct TEMPORAL_ADDRESS, TEMPORAL_TLS and TEMPORAL_API_KEY.",
      )
    : problem(
        "Temporal",
        `${address} does not serve us namespace ${namespace}: ${reason}`,
        adviceOnNamespace(namespace),
      );
}

function fairness(fair: boolean | null): Finding {
  if (fair === true) return ok("Fairness", "organisations take turns in the task queues");
  const text =
    fair === null ? "fairness between organisations could not be tested" : "organisations are not served fairly";
  return warning(
    "Fairness",
    `${text}: what one has queued may hold up another's work`,
    "Set matching.useNewMatcher and matching.enableFairness to true in Temporal's dynamic configuration (1.29 or later), or switch fairness on for the namespace of Temporal Cloud.",
  );
}

/** Compares the schedules of triggers, syncs and monitors with Temporal's. */
export async function schedules(config: Config, db: Database): Promise<Finding> {
  try {
    const keys = await existingMasterKeys(config.MILLRACE_MASTER_KEY, directoryOf(config.MILLRACE_BLOB_URL));
    const payloads = keys && createPayloads(config, db, createSecretBox(keys));
    const { missing, orphans, compared } = await withSchedules(config, payloads?.dataConverter ?? {}, (found) =>
      compareSchedules({ db, schedules: found }, allSchedules(config)),
    );
    if (missing.length + orphans.length === 0) return ok("Schedules", `${compared}, as Temporal has them`);
    return warning(
      "Schedules",
      `${missing.length} of ${compared} are not in Temporal as they are wanted, and ${orphans.length} there are wanted by nothing`,
      `Workers mend that every ${Math.ceil(config.MILLRACE_SCHEDULE_CHECK_MS / 1000)} s. Where it stays, their log says why.`,
    );
  } catch (error) {
    return warning("Schedules", `they cannot be compared: ${reasonOf(error as Error)}`, "Try again.");
  }
}
