import { RUN_STATES, TERMINAL_STATES, isTerminal } from "../domain/runs/run.ts";

const listed = (states: readonly string[]): string => states.map((state) => `'${state}'`).join(", ");

/** The terminal states of runs in the text of a statement, as in the predicates of indexes. */
export const TERMINAL = listed(TERMINAL_STATES);
/** The states of unfinished runs, for the text of a statement. */
export const OPEN = listed(RUN_STATES.filter((state) => !isTerminal(state)));
