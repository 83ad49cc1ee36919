import { CancellationScope } from "@temporalio/workflow";

/**
 * Runs work for each index below `count`, `most` at a time, until `stopped`. If one fails, the others are cancelled, and the error is
 * thrown only after they have ended.
 */
export async function eachUntilFailure(
  count: number,
  most: number,
  work: (at: number) => Promise<void>,
  stopped = (): boolean => false,
): Promise<void> {
  const scope = new CancellationScope();
  let next = 0;
  let failure: { readonly error: unknown } | undefined;
  const lane = async (): Promise<void> => {
    while (next < count && !failure && !stopped()) {
      const at = next;
      next += 1;
      try {
        await work(at);
      } catch (error) {
        failure ??= { error };
        scope.cancel();
      }
    }
  };
  await scope.run(() => Promise.all(Array.from({ length: Math.min(most, count) }, lane)));
  if (failure) throw failure.error;
}
