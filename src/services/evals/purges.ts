import { purgeDatasets } from "../../stores/evals/datasets.ts";
import { purgeExperiments, purgeMonitoredRuns } from "../../stores/evals/eval-purge.ts";
import { purgeMonitors } from "../../stores/evals/monitors.ts";
import { purgeOf } from "../house/purge.ts";

export const evalPurges = [
  purgeOf("experiments", purgeExperiments),
  purgeOf("datasets", purgeDatasets),
  purgeOf("monitored runs", purgeMonitoredRuns),
  purgeOf("monitors", (db, batch, { monitorDays }) => purgeMonitors(db, monitorDays, batch)),
];
