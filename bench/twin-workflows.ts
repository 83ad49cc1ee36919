import { proxyActivities, proxyLocalActivities } from "@temporalio/workflow";

interface Nothing {
  nothing(input: string): Promise<string>;
}
interface Requests {
  /** Sends a request and writes a row with its response. */
  request(input: { readonly url: string; readonly step: number }): Promise<string>;
  requests(input: { readonly url: string; readonly count: number }): Promise<string>;
}
const localRequests = proxyLocalActivities<Requests>({ startToCloseTimeout: "10 seconds" });
const local = proxyLocalActivities<Nothing>({ startToCloseTimeout: "10 seconds" });

/** The baseline for Millrace: a workflow that does nothing. */
export async function empty(input: string): Promise<string> {
  return input;
}

export async function threeLocal(input: string): Promise<string> {
  for (let step = 0; step < 3; step += 1) await local.nothing(input);
  return input;
}

export async function threeRegular(input: { readonly queue: string }): Promise<string> {
  const regular = proxyActivities<Nothing>({ taskQueue: input.queue, startToCloseTimeout: "10 seconds" });
  for (let step = 0; step < 3; step += 1) await regular.nothing("x");
  return "x";
}

/** The steps of the http flow, with nothing around them. */
export async function threeRequests(input: { readonly queue: string; readonly url: string }): Promise<string> {
  const { request } = proxyActivities<Requests>({ taskQueue: input.queue, startToCloseTimeout: "10 seconds" });
  for (let step = 0; step < 3; step += 1) await request({ url: input.url, step });
  return "x";
}

/** The same steps in one activity: the minimum cost of a chain. */
export async function chainedRequests(input: { readonly queue: string; readonly url: string }): Promise<string> {
  const { requests } = proxyActivities<Requests>({ taskQueue: input.queue, startToCloseTimeout: "10 seconds" });
  return requests({ url: input.url, count: 3 });
}

/** The same steps in local activities: the minimum cost of three requests within one workflow task. */
export async function threeLocalRequests(input: { readonly url: string }): Promise<string> {
  for (let step = 0; step < 3; step += 1) await localRequests.request({ url: input.url, step });
  return "x";
}
