import { proxyActivities, proxyLocalActivities } from "@temporalio/workflow";

interface Nothing {
  nothing(input: string): Promise<string>;
}
interface Requests {
  /** Sends a request and writes a row of what it answered. */
  request(input: { readonly url: string; readonly step: number }): Promise<string>;
}
const localRequests = proxyLocalActivities<Requests>({ startToCloseTimeout: "10 seconds" });
const local = proxyLocalActivities<Nothing>({ startToCloseTimeout: "10 seconds" });

/** What Millrace is measured against: a workflow that does nothing. */
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

/** What the http flow does, with nothing around it. */
export async function threeRequests(input: { readonly queue: string; readonly url: string }): Promise<string> {
  const { request } = proxyActivities<Requests>({ taskQueue: input.queue, startToCloseTimeout: "10 seconds" });
  for (let step = 0; step < 3; step += 1) await request({ url: input.url, step });
  return "x";
}

/** The same in local activities: the least that three requests within one workflow task can cost. */
export async function threeLocalRequests(input: { readonly url: string }): Promise<string> {
  for (let step = 0; step < 3; step += 1) await localRequests.request({ url: input.url, step });
  return "x";
}
