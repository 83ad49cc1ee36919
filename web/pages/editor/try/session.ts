import { useSyncExternalStore } from "react";
import { follow } from "../../../api/event-stream.ts";
import { LiveTexts, type Delta } from "../../../api/live-texts.ts";
import { NODE_EVENTS, afterEvents, type NodeEvent } from "../../../api/node-events.ts";
import { toProblem, type ApiProblem } from "../../../api/problem.ts";
import { isTerminal, type RunWithNodes } from "../../../api/runs.ts";
import { readTry } from "../../../api/tries.ts";
import type { ShownValue } from "../editor-context.ts";
import type { Entered } from "./kept-inputs.ts";
import { shownValues } from "./shown-values.ts";

/** A run whose values the editor shows. */
export interface Try {
  readonly runId: string;
  /** The node that the try went up to; null for the whole flow. */
  readonly until: string | null;
  /** Whether it is a run of the past that was opened with its values. */
  readonly isPast: boolean;
  /** Null until it was read. */
  readonly run: RunWithNodes | null;
}

interface Tries {
  readonly current: Try | null;
  /** The finished try before the current one. */
  readonly before: Try | null;
  /** Why the current try cannot be read; reading is repeated. */
  readonly failure: ApiProblem | null;
}

/** The last value of a node, and the run that it is from. */
interface KnownValue {
  readonly runId: string;
  readonly value: unknown;
  /** Whether `value` is only the beginning. */
  readonly isCut: boolean;
}

type SetValues = (values: ReadonlyMap<string, ShownValue>) => void;

/** Shortest time between two redraws, and between two reads of a run (ms). */
const DRAW_EVERY_MS = 150;
const READ_EVERY_MS = 400;
const POLL_MS = 2000;

/**
 * The tries of one open editor. It follows a run also while its panel is closed, so that states and values appear on the
 * canvas as they come.
 */
export class TrySession {
  readonly #show: SetValues;
  readonly #listeners = new Set<() => void>();
  readonly #texts = new LiveTexts();
  readonly known = new Map<string, KnownValue>();
  /** By node, the run that its pinned value was copied from. */
  readonly pinnedFrom = new Map<string, string>();
  #entered: Entered | null = null;
  #openedRun: string | null = null;
  #tries: Tries = { current: null, before: null, failure: null };
  #events: NodeEvent[] = [];
  #draw: ReturnType<typeof setTimeout> | undefined;
  #read: ReturnType<typeof setTimeout> | undefined;
  #poll: ReturnType<typeof setInterval> | undefined;
  #leave: () => void = () => undefined;

  constructor(show: SetValues) {
    this.#show = show;
    this.#texts.subscribe(() => this.#drawSoon());
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
  readonly read = (): Tries => this.#tries;

  /** Shows a run and follows it until it ends. */
  begin(runId: string, until: string | null): void {
    const { current, before } = this.#tries;
    const finished = current?.run && isTerminal(current.run.state) && !current.isPast ? current : before;
    this.#open({ runId, until, isPast: false, run: null }, finished);
    this.#leave = follow({
      url: `/v2/runs/${runId}`,
      rank: 0,
      onConnected: (isConnected) => {
        this.#pollRun(!isConnected);
        this.#readSoon();
      },
      onEvent: (type, text) => this.#take(type, text),
    });
  }

  /** Whether this run of the past is opened for the first time. */
  opens(runId: string): boolean {
    const isNew = this.#openedRun !== runId;
    this.#openedRun = runId;
    return isNew;
  }

  /** Shows a finished run of the past with its values. */
  showPast(run: RunWithNodes): void {
    this.#open({ runId: run.run_id, until: null, isPast: true, run }, null);
    this.#keepValues(run);
    this.#show(shownValues(run.nodes ?? [], this.#texts));
  }

  /** What was entered before the panel was closed. */
  entered(): Entered | null {
    return this.#entered;
  }
  keepEntered(entered: Entered): void {
    this.#entered = entered;
  }

  /** Stops following, when the editor closes. */
  close(): void {
    this.#leave();
    this.#pollRun(false);
    clearTimeout(this.#draw);
    clearTimeout(this.#read);
    this.#draw = undefined;
    this.#read = undefined;
  }

  #open(next: Try, before: Try | null): void {
    this.close();
    this.#events = [];
    this.#set({ current: next, before, failure: null });
    this.#show(new Map());
  }

  #take(type: string, text: string): void {
    if (type === "output.delta") return this.#texts.take((JSON.parse(text) as { readonly data: Delta }).data);
    if (!NODE_EVENTS.some((each) => each === type)) return this.#readSoon();
    const event = JSON.parse(text) as NodeEvent;
    this.#events.push(event);
    const { current } = this.#tries;
    if (current?.run) this.#setRun({ ...current.run, nodes: afterEvents(current.run.nodes ?? [], [event]) });
    this.#drawSoon();
    // The event says that there is a value, not which one.
    if (event.type === "node.finished") this.#readSoon();
  }

  #readSoon(): void {
    this.#read ??= setTimeout(() => {
      void this.#readNow().finally(() => {
        this.#read = undefined;
      });
    }, READ_EVERY_MS);
  }

  async #readNow(): Promise<void> {
    const { current } = this.#tries;
    if (current === null) return;
    this.#events = [];
    try {
      const run = await readTry(current.runId);
      if (this.#tries.current?.runId !== current.runId) return;
      // Events that arrived meanwhile may be newer than the response.
      const missed = this.#events;
      this.#setRun({ ...run, nodes: afterEvents(run.nodes ?? [], missed) });
      this.#keepValues(run);
      for (const { path, finished_at } of run.nodes ?? []) if (finished_at !== null) this.#texts.forget(path);
      if (isTerminal(run.state)) this.close();
      else if (missed.some(({ type }) => type === "node.finished")) setTimeout(() => this.#readSoon(), 0);
      this.#drawSoon();
    } catch (error) {
      this.#set({ ...this.#tries, failure: toProblem(error) });
      this.#pollRun(true);
    }
  }

  #pollRun(polls: boolean): void {
    clearInterval(this.#poll);
    // A hidden tab does not poll.
    this.#poll = polls ? setInterval(() => document.hidden || this.#readSoon(), POLL_MS) : undefined;
  }

  #keepValues({ run_id, nodes = [] }: RunWithNodes): void {
    for (const { path, state, output, truncated, pinned } of nodes)
      if (state === "COMPLETED" && !pinned) this.known.set(path, { runId: run_id, value: output, isCut: truncated });
  }

  #drawSoon(): void {
    this.#draw ??= setTimeout(() => {
      this.#draw = undefined;
      this.#show(shownValues(this.#tries.current?.run?.nodes ?? [], this.#texts));
    }, DRAW_EVERY_MS);
  }

  #setRun(run: RunWithNodes): void {
    const { current, before } = this.#tries;
    if (current) this.#set({ current: { ...current, run }, before, failure: null });
  }

  #set(tries: Tries): void {
    this.#tries = tries;
    for (const listener of this.#listeners) listener();
  }
}

const sessions = new WeakMap<SetValues, TrySession>();

/** The tries of the editor that shows values with this function. */
export function sessionOf(show: SetValues): TrySession {
  const session = sessions.get(show) ?? new TrySession(show);
  sessions.set(show, session);
  return session;
}

export function useTries(session: TrySession): Tries {
  return useSyncExternalStore(session.subscribe, session.read);
}
