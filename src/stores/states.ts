import { RUN_STATES, TERMINAL_STATES, isTerminal } from "../domain/runs/run.ts";

const listed = (states: readonly string[]): string => states.map((state) => `'${state}'`).join(", ");

/** The states of runs that have ended, in the text of a statement: as the predicates of indexes have them. */
export const TERMINAL = listed(TERMINAL_STATES);
/** The others. */
export const OPEN = listed(RUN_STATES.filter((state) => !isTerminal(state)));
