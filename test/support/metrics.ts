/** The token for `/metrics` of all processes that tests start. */
export const METRICS_TOKEN = "token-of-the-metrics-of-tests";

/** The metrics of an API or worker process. */
export async function readMetrics({ url }: { readonly url: string }): Promise<string> {
  const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } });
  if (!response.ok) throw new Error(`${url}/metrics answers ${response.status}`);
  return response.text();
}
