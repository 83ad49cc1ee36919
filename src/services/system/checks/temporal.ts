import type { Config } from "../../../config.ts";
import { directoryOf } from "../../../platform/blobs/blob-place.ts";
import { existingMasterKeys } from "../../../platform/secrets/master-key.ts";
import { createSecretBox } from "../../../platform/secrets/seal.ts";
import type { Database } from "../../../stores/db.ts";
import { adviceOnNamespace } from "../../../temporal/address.ts";
import { examineTemporal, withClient, type TemporalDenied } from "../../../temporal/examine.ts";
import { createSchedules } from "../../../temporal/schedules.ts";
import { allSchedules } from "../../schedules/all-schedules.ts";
import { compareSchedules } from "../../schedules/compare.ts";
import { createPayloads } from "../../secrets/payloads.ts";
import { ok, problem, reasonOf, warning, type Finding } from "./finding.ts";

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
      `no worker polls the ${type} tasks of ${name}${backlog ? `, and ${backlog} are waiting` : ""}`,
      "Start a worker (`millrace worker`) with the same MILLRACE_TASK_QUEUE. If one is running, all its slots have been taken for a minute: add workers.",
    ),
  );
  for (const { name, type, pollers, polled_at, backlog, backlog_age_seconds: age } of waiting) {
    if (pollers > 0 && (age ?? 0) > 60)
      findings.push(
        warning(
          "Task queue",
          `${backlog} ${type} tasks of ${name} are waiting, the oldest for ${Math.round(age ?? 0)} s; workers last polled ${secondsSince(polled_at)} s ago`,
          "Add workers, and check that the existing workers are running.",
        ),
      );
  }
  const processes = Math.max(0, ...seen.queues.map(({ pollers }) => pollers));
  const oldest = Math.max(0, ...waiting.map(({ backlog_age_seconds: age }) => age ?? 0));
  const tasks = waiting.reduce((sum, { backlog }) => sum + (backlog ?? 0), 0);
  const backlog = tasks === 0 ? "no backlog" : `${tasks} tasks are waiting, the oldest for ${Math.round(oldest)} s`;
  return findings.length > 0
    ? [described, fairness(seen.fair), ...findings]
    : [
        described,
        fairness(seen.fair),
        ok("Task queues", `${seen.queues.length} task queues are polled, by up to ${processes} processes; ${backlog}`),
      ];
}

const secondsSince = (at: number | null): number => Math.max(0, Math.round((Date.now() - (at ?? Date.now())) / 1000));

/** The finding if Temporal is unreachable, or does not serve the namespace. */
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
        `${address} does not give access to namespace ${namespace}: ${reason}`,
        adviceOnNamespace(namespace),
      );
}

function fairness(fair: boolean | null): Finding {
  if (fair === true) return ok("Fairness", "task queues are shared fairly between organisations");
  const text =
    fair === null
      ? "could not test fairness between organisations"
      : "task queues are not shared fairly between organisations";
  return warning(
    "Fairness",
    `${text}: queued work of one organisation may delay the others`,
    "Set matching.useNewMatcher and matching.enableFairness to true in Temporal's dynamic configuration (1.29 or later), or turn on fairness for the namespace in Temporal Cloud.",
  );
}

/** Reads what Temporal stores, if the master key is known. */
export async function converterOf(config: Config, db: Database): Promise<Parameters<typeof withClient>[1]> {
  const keys = await existingMasterKeys(config.MILLRACE_MASTER_KEY, directoryOf(config.MILLRACE_BLOB_URL));
  return keys ? createPayloads(config, db, createSecretBox(keys)).dataConverter : {};
}

/** Compares the schedules of triggers, syncs, monitors and purges with Temporal's. */
export async function schedules(config: Config, db: Database): Promise<Finding> {
  try {
    const { missing, orphans, compared } = await withClient(config, await converterOf(config, db), (client) => {
      const found = createSchedules(client, config.MILLRACE_TASK_QUEUE);
      return compareSchedules({ db, schedules: found }, allSchedules(config), { renews: false, now: Date.now() });
    });
    if (missing.length + orphans.length === 0) return ok("Schedules", `${compared}, all as in Temporal`);
    return warning(
      "Schedules",
      `${missing.length} of ${compared} are missing or different in Temporal, and ${orphans.length} in Temporal belong to nothing`,
      `Workers repair this every ${Math.ceil(config.MILLRACE_SCHEDULE_CHECK_MS / 1000)} s. If it stays, see their log.`,
    );
  } catch (error) {
    return warning("Schedules", `could not compare the schedules: ${reasonOf(error as Error)}`, "Retry.");
  }
}
