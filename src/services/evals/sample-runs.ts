import { hasLabels, isEligible, isInEnvironment, isSampled, type EndedRun } from "../../domain/evals/monitor.ts";
import { isTerminal, type RunState } from "../../domain/runs/run.ts";
import type { DomainEvent } from "../../domain/webhooks/events.ts";
import type { Db } from "../../stores/db.ts";
import {
  countHours,
  enabledMonitors,
  labelsOf,
  takeRuns,
  type HourCount,
  type SamplingMonitor,
  type TakenRun,
} from "../../stores/evals/monitor-runs.ts";

/**
 * Stores which finished runs monitors sample, in the transaction that relays their events; scoring happens later. For
 * connections of the system only.
 */
export async function sampleRuns(db: Db, events: readonly DomainEvent[]): Promise<void> {
  const runs = events.flatMap(endedRunOf);
  if (runs.length === 0) return;
  const monitors = await enabledMonitors(db, [...new Set(runs.map(({ org_id }) => org_id))]);
  if (monitors.length === 0) return;
  const eligible = runs.flatMap((run) =>
    monitors.filter((monitor) => isEligible(monitor, run)).map((monitor) => ({ monitor, run })),
  );
  if (eligible.length === 0) return;
  const rows = await labelsOf(db, [...new Set(eligible.map(({ run }) => run.run_id))]);
  const labels = new Map(rows.map((row) => [row.run_id, row]));
  const matches = eligible.filter(({ monitor, run: { run_id } }) => {
    const own = labels.get(run_id);
    return isInEnvironment(monitor, own) && hasLabels(monitor.filter, own);
  });
  if (matches.length > 0) await take(db, matches);
}

interface Match {
  readonly monitor: SamplingMonitor;
  readonly run: EndedRun;
}

/** A monitor's runs in one hour. */
interface Hour extends Pick<HourCount, "monitor_id" | "org_id" | "hour"> {
  eligible: number;
  readonly sampled: EndedRun[];
}

async function take(db: Db, matches: readonly Match[]): Promise<void> {
  const hours = new Map<string, Hour>();
  for (const { monitor, run } of matches) {
    const hour = hourOf(run.ended_at);
    const { monitor_id, org_id, sampling_rate } = monitor;
    const key = `${monitor_id} ${hour}`;
    const found = hours.get(key) ?? { monitor_id, org_id, hour, eligible: 0, sampled: [] };
    hours.set(key, found);
    found.eligible += 1;
    if (isSampled(run.run_id, sampling_rate)) found.sampled.push(run);
  }
  const counts = [...hours.values()].map(({ sampled, ...hour }) => ({ ...hour, wanted: sampled.length }));
  const granted = await countHours(db, counts);
  const taken = granted.flatMap(({ monitor_id, hour, granted: count }): TakenRun[] => {
    const runs = hours.get(`${monitor_id} ${hour}`)?.sampled ?? [];
    return runs.slice(0, count).map((run) => ({ ...run, monitor_id }));
  });
  if (taken.length > 0) await takeRuns(db, taken);
}

function hourOf(time: string): string {
  return new Date(Math.floor(Date.parse(time) / 3_600_000) * 3_600_000).toISOString();
}

/** The run whose end an event reports. */
function endedRunOf({ type, org_id, project_id, data, occurred_at }: DomainEvent): EndedRun[] {
  const { run_id, flow_version, state, run_type } = data;
  if (!type.startsWith("run.") && !type.startsWith("part.")) return [];
  if (typeof run_id !== "string" || typeof run_type !== "string" || typeof flow_version !== "number") return [];
  if (typeof state !== "string" || !isTerminal(state as RunState)) return [];
  return [{ run_id, org_id, project_id, flow_version, state, run_type, ended_at: occurred_at }];
}
