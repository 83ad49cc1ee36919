import type { Config } from "../../../config.ts";
import { isStranded, type DeploymentStatus } from "../../../temporal/deployments.ts";
import { withDeployment } from "../deployment.ts";
import { ok, problem, reasonOf, warning, type Finding } from "./finding.ts";

/** The builds of a worker deployment; no finding if the installation uses none. */
export async function builds(config: Config): Promise<Finding[]> {
  const name = config.MILLRACE_DEPLOYMENT;
  if (name === undefined) return [];
  try {
    const status = await withDeployment(config, name, (deployment) => deployment.status());
    if (status) return findingsOf(status);
    const advice = "Start api and workers with this MILLRACE_DEPLOYMENT.";
    return [problem("Builds", `Temporal has no deployment ${name}`, advice)];
  } catch (error) {
    return [warning("Builds", `could not read the builds: ${reasonOf(error as Error)}`, "Retry.")];
  }
}

function findingsOf({ current, ramping, builds: all }: DeploymentStatus): Finding[] {
  const findings = all.filter(isStranded).map(({ build_id, pinned, unpolled }) => {
    const text = `${pinned} workflows are pinned to build ${build_id}, but no worker polls its ${unpolled.join(", ")}`;
    const advice = `Start its api and workers again, or, if another build can continue them, run \`millrace deployment move --from ${build_id} --to <build>\`.`;
    return problem("Builds", text, advice);
  });
  for (const { build_id, unpolled } of all.filter((each) => !isStranded(each) && each.unpolled.length > 0)) {
    if (build_id !== current && build_id !== ramping?.build_id) continue;
    const text = `new runs start on build ${build_id}, but no worker polls its ${unpolled.join(", ")}`;
    const advice =
      "Start its api and workers, or choose another build for new runs (`millrace deployment set-current`).";
    findings.push(problem("Builds", text, advice));
  }
  if (current === null) {
    const advice = "To start them on a build, run `millrace deployment set-current <build>`.";
    findings.push(warning("Builds", "new runs start on workers without a deployment", advice));
  }
  return findings.length > 0
    ? findings
    : [ok("Builds", `new runs start on ${current}; each build with runs has workers`)];
}
