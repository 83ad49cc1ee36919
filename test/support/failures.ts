import { NodeFailure } from "../../src/domain/runs/failure.ts";

/** The NodeFailure that `run` throws; the test fails if it throws anything else, or nothing. */
export const failureOf = (run: () => unknown): NodeFailure => {
  try {
    run();
  } catch (error) {
    if (error instanceof NodeFailure) return error;
    throw error;
  }
  throw new Error("it did not fail");
};
