import type { JSX } from "react";
import { Icon } from "./icons.tsx";
import type { IconName } from "./icons.tsx";
import "./status.css";

export type Tone = "good" | "bad" | "warn" | "busy" | "wait" | "quiet";

/** How every state of runs, nodes, pauses, deliveries, documents, jobs and experiments looks: never by colour alone. */
const LOOKS: Readonly<Record<string, readonly [word: string, tone: Tone, icon: IconName]>> = {
  PENDING: ["Pending", "quiet", "clock"],
  RUNNING: ["Running", "busy", "spin"],
  RESUMED: ["Resumed", "busy", "spin"],
  RETRYING: ["Retrying", "warn", "retry"],
  PAUSED: ["Paused", "wait", "pause"],
  COMPLETED: ["Completed", "good", "check"],
  FAILED: ["Failed", "bad", "cross"],
  CANCELLED: ["Cancelled", "quiet", "stop"],
  SKIPPED: ["Skipped", "quiet", "skip"],
  DRAFT: ["Draft", "quiet", "clock"],
  QUEUED: ["Queued", "quiet", "clock"],
  PARTIAL: ["Partly done", "warn", "warning"],
  ABORTED: ["Aborted", "quiet", "stop"],
  waiting: ["Waiting", "wait", "pause"],
  resolved: ["Resolved", "good", "check"],
  expired: ["Expired", "warn", "clock"],
  cancelled: ["Cancelled", "quiet", "stop"],
  enabled: ["Enabled", "good", "check"],
  disabled: ["Disabled", "bad", "stop"],
  pending: ["Pending", "quiet", "clock"],
  retrying: ["Retrying", "warn", "retry"],
  delivered: ["Delivered", "good", "check"],
  failed: ["Failed", "bad", "cross"],
  active: ["Active", "good", "check"],
  error: ["Refused", "bad", "cross"],
  unverified: ["Not verified", "quiet", "clock"],
  running: ["Running", "busy", "spin"],
  completed: ["Completed", "good", "check"],
  stored: ["To be read", "busy", "spin"],
  extracted: ["To be indexed", "busy", "spin"],
  indexed: ["Indexed", "good", "check"],
  unreadable: ["Not indexed", "bad", "cross"],
  passed: ["Passed", "good", "check"],
  inconclusive: ["Inconclusive", "warn", "warning"],
  met: ["Met", "good", "check"],
  "not met": ["Not met", "bad", "cross"],
  improved: ["Better", "good", "check"],
  regressed: ["Worse", "bad", "cross"],
  deleting: ["Being deleted", "quiet", "spin"],
};

/** The look of a state; one that this version does not know is shown by its own word. */
export function lookOf(state: string): { readonly word: string; readonly tone: Tone; readonly icon: IconName } {
  const [word, tone, icon] = LOOKS[state] ?? [state, "quiet", "clock"];
  return { word, tone, icon };
}

export function Status({ state }: { readonly state: string }): JSX.Element {
  const { word, tone, icon } = lookOf(state);
  return (
    <span className={`status tone-${tone} ${icon === "spin" ? "status-moving" : ""}`}>
      <Icon name={icon} />
      {word}
    </span>
  );
}
