import { announce } from "../parts/announce.tsx";
import { ApiProblem } from "../api/problem.ts";
import { sayError, type PageApi } from "./api.ts";
import { drawing } from "./drawing.ts";
import { followRun, isSettled } from "./follow-run.ts";
import { goTo } from "./place.ts";
import type { PageRun, Vote } from "./shapes.ts";
import { State } from "./state.ts";
import { newTurn, turnOf, withFrame, type Turn } from "./turn.ts";

const isAborted = (error: unknown): boolean => error instanceof DOMException && error.name === "AbortError";

interface RunsState {
  readonly turns: readonly Turn[];
  /** The conversation to which the runs, and files uploaded for them, belong; null until the first of them. */
  readonly conversation: string | null;
  readonly isConnected: boolean;
  /** Why the last attempt to send or to open failed. */
  readonly error: unknown;
}
const EMPTY: RunsState = { turns: [], conversation: null, isConnected: true, error: null };

/** The runs of a conversation, or the one of a form: sending, following, stopping, and answering questions in between. */
export class Runs {
  readonly state = new State(EMPTY);
  readonly #api: PageApi;
  /** The input that is the visitor's side of a conversation. */
  readonly #input: string | null;
  readonly #answered = new Set<string>();
  readonly #stopping = new Set<string>();
  #streams = new AbortController();

  constructor(api: PageApi, input: string | null) {
    this.#api = api;
    this.#input = input;
  }

  /** Sends inputs. Returns whether they were accepted; if not, the state has the error and there is no turn. */
  async send(asked: string, inputs: Readonly<Record<string, unknown>>): Promise<boolean> {
    const key = randomKey();
    const { turns, conversation } = this.state.get();
    this.#set({ turns: [...turns, newTurn(key, asked)], error: null });
    try {
      await this.#follow(key, (signal) => this.#api.start({ inputs, conversation, key }, signal));
      return true;
    } catch (error) {
      if (isAborted(error)) return true;
      this.#set({ turns: this.state.get().turns.filter((turn) => turn.key !== key), error });
      return false;
    }
  }

  /** The state has the error if the files or inputs cannot be sent yet. */
  refuse(message: string): void {
    this.#set({ error: new ApiProblem(0, "incomplete", message, null) });
  }

  /** Stops a run, or as soon as the server has accepted it. */
  async stop({ key, runId }: Turn): Promise<void> {
    this.#stopping.add(key);
    // A run that has just finished cannot be stopped, and its last frame says so.
    if (runId !== null) await this.#api.cancel(runId).catch(() => undefined);
  }

  /** Answers a question of a paused run. Throws an ApiProblem if the answer is refused. */
  async answer({ key, runId }: Turn, answer: { pause_id: string; action: string; data?: unknown }): Promise<void> {
    if (runId === null) return;
    await this.#api.resume(runId, answer);
    this.#answered.add(answer.pause_id);
    const isOpen = ({ pause_id }: { pause_id: string }): boolean => pause_id !== answer.pause_id;
    this.#change(key, (turn) => ({ ...turn, state: "RESUMED", pauses: turn.pauses.filter(isOpen) }));
    void this.#followStored(key, runId);
  }

  async vote({ key, runId, vote: before }: Turn, vote: Vote): Promise<void> {
    if (runId === null) return;
    this.#change(key, (turn) => ({ ...turn, vote }));
    try {
      await this.#api.feedback(runId, vote);
      announce("Thank you.");
    } catch (error) {
      this.#change(key, (turn) => ({ ...turn, vote: before }));
      announce(sayError(error));
    }
  }

  /** Shows a stored conversation, and follows its runs that have not finished. One that is gone gives way to a new one. */
  async openConversation(id: string): Promise<void> {
    try {
      this.#show(await allMessages(this.#api, id), id);
      goTo("conversation", id);
    } catch (error) {
      this.begin(isMissing(error) ? null : error);
    }
  }

  async openRun(id: string): Promise<void> {
    try {
      const run = await this.#api.run(id);
      this.#show([run], run.conversation_id);
    } catch (error) {
      this.begin(isMissing(error) ? null : error);
    }
  }

  /** Starts anew. Runs that are in progress continue on the server. */
  begin(error: unknown = null): void {
    this.#show([], null);
    this.#set({ error });
    goTo("conversation", null);
  }

  /** Makes room for the next run of a form, which reads the same files. */
  clear(): void {
    this.#show([], this.state.get().conversation);
  }

  /** Files were uploaded, which begins a conversation. */
  enter(conversation: string): void {
    this.#set({ conversation });
  }

  leave(): void {
    this.#streams.abort();
  }

  #show(runs: readonly PageRun[], conversation: string | null): void {
    this.#streams.abort();
    this.#streams = new AbortController();
    const turns = runs.map((run) => turnOf(run, this.#input));
    this.state.set({ ...EMPTY, turns, conversation });
    for (const { key, runId, state, pauses } of turns) {
      const isElsewhere = state === "PAUSED" && pauses.every(({ answerable }) => !answerable);
      if (runId !== null && (!isSettled(state) || isElsewhere)) void this.#followStored(key, runId);
    }
  }

  async #followStored(key: string, runId: string): Promise<void> {
    try {
      await this.#follow(key, (signal) => this.#api.follow(runId, signal));
    } catch (error) {
      if (!isAborted(error)) this.#change(key, (turn) => ({ ...turn, state: "FAILED", error: sayError(error) }));
    }
  }

  /** Follows the run of a turn until it finishes or pauses. */
  async #follow(key: string, open: (signal: AbortSignal) => Promise<Response>): Promise<void> {
    const draw = drawing((frames) => this.#change(key, (turn) => frames.reduce(withFrame, turn)));
    let isFirst = true;
    await followRun({
      open,
      reopen: (runId, signal) => this.#api.follow(runId, signal),
      answered: this.#answered,
      signal: this.#streams.signal,
      onConnected: (isConnected) => this.#set({ isConnected }),
      onFrame: (frame) => {
        draw(frame);
        const { conversation_id: conversation, run_id } = frame;
        if (isFirst && this.#stopping.has(key)) void this.#api.cancel(run_id).catch(() => undefined);
        isFirst = false;
        if (this.#input === null) goTo("run", run_id);
        else goTo("conversation", conversation);
        if (this.state.get().conversation !== conversation) this.#set({ conversation });
        if (frame.state === "COMPLETED") announce("The answer is complete.");
        if (frame.state === "PAUSED") announce("There is a question to answer.");
      },
    });
  }

  #set(changed: Partial<RunsState>): void {
    this.state.set({ ...this.state.get(), ...changed });
  }

  #change(key: string, to: (turn: Turn) => Turn): void {
    this.#set({ turns: this.state.get().turns.map((turn) => (turn.key === key ? to(turn) : turn)) });
  }
}

/** Whether a conversation or run was deleted, or is of another browser. */
const isMissing = (error: unknown): boolean =>
  error instanceof ApiProblem && (error.status === 404 || error.status === 401);

/** Every run of a conversation, oldest first. */
async function allMessages(api: PageApi, id: string): Promise<readonly PageRun[]> {
  const runs: PageRun[] = [];
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<PageApi["messages"]>> = await api.messages(id, cursor);
    runs.push(...page.data);
    cursor = page.has_more ? page.cursor : null;
  } while (cursor !== null);
  return runs;
}

/** Random, because a page without encryption has no crypto.randomUUID. */
function randomKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
