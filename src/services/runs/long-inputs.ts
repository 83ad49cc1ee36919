import type { Json } from "../../domain/json.ts";
import { createPlaces } from "../../domain/places.ts";
import { paced } from "../../stores/org-places.ts";
import { storeInputs } from "./create-run.ts";

/** From this length on in total (UTF-16 units), inputs are long: writing them takes longer than all else that creates a run. */
const LONG_LENGTH = 256 * 1024;
/** Long inputs stored at the same time; an organisation may have half of them. */
const AT_ONCE = 2;
/** Most requests of an organisation that wait for their turn, because each holds its body, and how long (ms). */
const LINE = { maxWaiting: 20, patienceMs: 5000 } as const;

/** Whether inputs have long texts. */
export function areLong(inputs: Readonly<Record<string, Json>>): boolean {
  const texts = Object.values(inputs).map((input) => (typeof input === "string" ? input.length : 0));
  return texts.reduce((sum, length) => sum + length, 0) >= LONG_LENGTH;
}

/**
 * Stores inputs; long ones in turns, because writing megabytes occupies the process. While others use it too, an
 * organisation's next long inputs wait until it is within its pace. The returned function throws NoPlace.
 */
export function createInputTurns(): typeof storeInputs {
  const places = createPlaces(AT_ONCE);
  return (blobs, orgId, inputs) => {
    const store = () => storeInputs(blobs, orgId, inputs);
    return areLong(inputs) ? places.hold(orgId, LINE, () => paced(places, orgId, store)) : store();
  };
}
