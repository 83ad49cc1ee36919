import { uuid7Of } from "../../src/domain/uuid.ts";

/**
 * The ID of something that a node creates: a UUIDv7 with the time of the run's ID that depends only on the run's ID and the path. After a
 * lost workflow task, local activities are executed again, at another time and possibly in another order, and must find the rows they wrote
 * before under the same IDs.
 */
export function nodeUuid7(runId: string, path: string): string {
  return uuid7Of(runId, hash128(`${runId} ${path}`));
}

/** 128 well-mixed bits of a text, as 32 hexadecimal digits, by four lanes of MurmurHash3's mixing. Not suitable for secrets. */
function hash128(text: string): string {
  const lanes = [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344];
  for (let at = 0; at < text.length; at += 1) {
    for (let lane = 0; lane < 4; lane += 1) {
      const mixed = Math.imul((lanes[lane] ?? 0) ^ text.charCodeAt(at), 0xcc9e2d51 + 2 * lane);
      lanes[lane] = Math.imul((mixed << 15) | (mixed >>> 17), 0x1b873593) + (lanes[(lane + 1) % 4] ?? 0);
    }
  }
  return lanes.map((lane) => finish(lane).toString(16).padStart(8, "0")).join("");
}

function finish(lane: number): number {
  let mixed = lane ^ (lane >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
