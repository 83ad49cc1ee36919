import type { JSX } from "react";
import { Icon, type IconName } from "./icons.tsx";
import "./status.css";

export type Tone = "good" | "bad" | "warn" | "busy" | "wait" | "quiet";

/** Word, colour and icon of every state of runs, nodes, pauses, deliveries, documents, jobs and experiments; colour never stands alone. */
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
  PARTIAL: ["Partial", "warn", "warning"],
  ABORTED: ["Stopped", "quiet", "stop"],
  waiting: ["Waiting", "wait", "pause"],
  resolved: ["Resolved", "good", "check"],
  expired: ["Expired", "warn", "clock"],
  cancelled: ["Cancelled", "quiet", "stop"],
  enabled: ["Enabled", "good", "check"],
  disabled: ["Disabled", "bad", "stop"],
  pending: ["Pending", "quiet", "clock"],
  retrying: ["Retrying", "warn", "retry"],
  started: ["Started", "good", "check"],
  delivered: ["Delivered", "good", "check"],
  failed: ["Failed", "bad", "cross"],
  active: ["Active", "good", "check"],
  error: ["Error", "bad", "cross"],
  revoked: ["Revoked", "quiet", "stop"],
  unverified: ["Unverified", "quiet", "clock"],
  running: ["Running", "busy", "spin"],
  completed: ["Completed", "good", "check"],
  stored: ["Extracting text", "busy", "spin"],
  extracted: ["Indexing", "busy", "spin"],
  indexed: ["Indexed", "good", "check"],
  unreadable: ["Failed", "bad", "cross"],
  passed: ["Passed", "good", "check"],
  inconclusive: ["Inconclusive", "warn", "warning"],
  met: ["Met", "good", "check"],
  "not met": ["Not met", "bad", "cross"],
  improved: ["Improved", "good", "check"],
  regressed: ["Regressed", "bad", "cross"],
  added: ["Added", "good", "plus"],
  removed: ["Removed", "bad", "minus"],
  changed: ["Changed", "warn", "pencil"],
  renamed: ["Renamed", "busy", "pencil"],
  deleting: ["Deleting", "quiet", "spin"],
};

/** The look of a state; a state that this version does not know shows its own name. */
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
