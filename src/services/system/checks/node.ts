import { ok, problem, type Finding } from "./finding.ts";

const MIN_NODE = [20, 19] as const;

export function node(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const old = major < MIN_NODE[0] || (major === MIN_NODE[0] && minor < MIN_NODE[1]);
  return old
    ? problem("Node", `${process.version} is too old`, `Install Node ${MIN_NODE.join(".")} or later.`)
    : ok("Node", process.version);
}
