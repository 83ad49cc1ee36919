// A thread that compares vectors. It is stateless: the vectors are in memory that it shares with its caller.
import { parentPort, workerData } from "node:worker_threads";
import { createBest } from "./best.ts";
import { dotsOf } from "./dots.ts";
import { BLOCK, numbersOf, scratchNumbers, strideOf, type NearestReply, type NearestRequest } from "./nearest.ts";

const { place } = workerData as { readonly place: number };

parentPort?.on("message", (request: NearestRequest) => parentPort?.postMessage(nearest(request)));

function nearest({ id, memory, dimensions, count, query, slots, limit }: NearestRequest): NearestReply {
  const data = numbersOf(memory);
  const stride = strideOf(dimensions);
  const dots = slots === null && !(memory instanceof SharedArrayBuffer) ? dotsOf(memory) : null;
  // The result space of each thread comes after the vectors, counted from the end.
  const queryAt = data.length - (place + 1) * scratchNumbers(dimensions);
  const resultsAt = queryAt + stride;
  if (dots !== null) data.set(query, queryAt);
  const tried = slots?.length ?? count;
  const best = createBest(limit);
  for (let i = 0; i < tried; i += 1) {
    const slot = slots === null ? i : (slots[i] ?? 0);
    if (dots !== null && i % BLOCK === 0) {
      dots(i * stride * 4, queryAt * 4, stride * 4, Math.min(BLOCK, tried - i), resultsAt * 4);
    }
    const score =
      dots === null ? dot(data, slot * stride, query, dimensions) : (data[resultsAt + (i % BLOCK)] as number);
    best.add(slot, score);
  }
  return { id, ...best.sorted() };
}

/** Four independent sums, because additions to one sum would wait for each other. */
function dot(data: Float32Array, offset: number, query: Float32Array, dimensions: number): number {
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  let i = 0;
  for (; i + 3 < dimensions; i += 4) {
    const at = offset + i;
    a += (data[at] as number) * (query[i] as number);
    b += (data[at + 1] as number) * (query[i + 1] as number);
    c += (data[at + 2] as number) * (query[i + 2] as number);
    d += (data[at + 3] as number) * (query[i + 3] as number);
  }
  for (; i < dimensions; i += 1) a += (data[offset + i] as number) * (query[i] as number);
  return a + b + c + d;
}
