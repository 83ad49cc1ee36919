import { useSyncExternalStore, type JSX } from "react";

// Formatters are expensive to create, and the user's language and time zone do not change.
const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
const DAY = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });
const STEPS = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
] as const;

let listeners: Array<() => void> = [];
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners = [...listeners, listener];
  if (timer === undefined) {
    now = Date.now();
    timer = setInterval(() => {
      now = Date.now();
      for (const each of listeners) each();
    }, 1000);
  }
  return () => {
    listeners = listeners.filter((each) => each !== listener);
    if (listeners.length > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The current time, updated once a second by one timer for the whole page. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

/** Relative time, or the date; hovering shows the exact time. "-" if there is none. */
export function Time({
  at,
  isPlanned = false,
}: {
  readonly at: string | null | undefined;
  /** For future times: they are never shown as past. */
  readonly isPlanned?: boolean;
}): JSX.Element {
  const present = useNow();
  if (at == null) return <span>-</span>;
  const date = new Date(at);
  const seconds = (date.getTime() - present) / 1000;
  return (
    <time className="nowrap" dateTime={at} title={EXACT.format(date)}>
      {(isPlanned ? untilPlanned(seconds) : relative(seconds)) ?? DAY.format(date)}
    </time>
  );
}

function untilPlanned(seconds: number): string | undefined {
  if (seconds <= 0) return "due now";
  return seconds < 60 ? `in ${Math.ceil(seconds)} s` : relative(seconds);
}

function relative(seconds: number): string | undefined {
  const size = Math.abs(seconds);
  // The clocks of the server and the user may differ slightly.
  if (size < 5) return "just now";
  if (size < 60) return seconds < 0 ? `${Math.floor(size)} s ago` : `in ${Math.floor(size)} s`;
  if (size > 7 * 86_400) return undefined;
  const [unit, length] = STEPS.find(([, each]) => size >= each) ?? ["minute", 60];
  return RELATIVE.format(Math.trunc(seconds / length), unit);
}

/** A duration in at most two units: `340 ms`, `2.4 s`, `3 min 12 s`, `24 h`. */
export function duration(ms: number | null | undefined): string {
  if (ms == null) return "-";
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds < 10 ? Number(seconds.toFixed(1)) : Math.floor(seconds)} s`;
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3600)];
  if (hours === 0) return inUnits([minutes, "min"], [Math.floor(seconds % 60), "s"]);
  return hours < 48
    ? inUnits([hours, "h"], [minutes % 60, "min"])
    : inUnits([Math.floor(hours / 24), "d"], [hours % 24, "h"]);
}

/** The smaller unit is omitted if it is zero. */
function inUnits(large: readonly [count: number, unit: string], small: readonly [count: number, unit: string]): string {
  return small[0] === 0 ? large.join(" ") : `${large.join(" ")} ${small.join(" ")}`;
}

/** A duration that grows until the end is known. */
export function Elapsed({ from, to }: { readonly from: string | null; readonly to: string | null }): JSX.Element {
  const present = useNow();
  if (from === null) return <span>-</span>;
  const end = to === null ? Math.max(present, Date.parse(from)) : Date.parse(to);
  return <span className="nowrap">{duration(end - Date.parse(from))}</span>;
}
