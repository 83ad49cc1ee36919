import { isSettled } from "./follow-run.ts";
import type { Frame } from "./shapes.ts";

/** Shortest time between two redraws of a growing answer (ms). */
const DRAW_EVERY_MS = 60;

/** Draws the first frame at once and those after it a few at a time, because each redraw costs as much as the text is long. */
export function drawing(draw: (frames: readonly Frame[]) => void): (frame: Frame) => void {
  let waiting: Frame[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let drawnAt = 0;
  const now = (): void => {
    clearTimeout(timer);
    timer = undefined;
    drawnAt = Date.now();
    const frames = waiting;
    waiting = [];
    draw(frames);
  };
  return (frame) => {
    waiting.push(frame);
    const left = drawnAt + DRAW_EVERY_MS - Date.now();
    if (left <= 0 || isSettled(frame.state)) now();
    else timer ??= setTimeout(now, left);
  };
}
