import { AsyncLocalStorage } from "node:async_hooks";

/** A time limit that pauses while its work is queued. */
export interface TimeLimit {
  /** Runs work whose waiting in queues does not count. */
  within<T>(work: () => Promise<T>): Promise<T>;
  /** Ends the limit: nothing is called afterwards. */
  stop(): void;
}

interface Clock {
  hold(): () => void;
}

const clocks = new AsyncLocalStorage<Clock>();

/** Calls `onOver` after `ms`, not counting the time in which the work within it waited (see whileWaiting). */
export function createTimeLimit(ms: number, onOver: () => void): TimeLimit {
  let left = ms;
  let since = performance.now();
  let holds = 0;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined = setTimeout(onOver, ms);
  const clock: Clock = {
    hold() {
      if (holds === 0) {
        clearTimeout(timer);
        left -= performance.now() - since;
      }
      holds += 1;
      let held = true;
      return () => {
        if (!held) return;
        held = false;
        holds -= 1;
        if (holds > 0 || stopped) return;
        since = performance.now();
        timer = setTimeout(onOver, Math.max(0, left));
      };
    },
  };
  return {
    within: (work) => clocks.run(clock, work),
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

/** Pauses the surrounding time limit until the returned function is called, because the work is queued. */
export function whileWaiting(): () => void {
  return clocks.getStore()?.hold() ?? (() => undefined);
}
