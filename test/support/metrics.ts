/** What `/metrics` of the services that tests start asks for. */
export const METRICS_TOKEN = "token-of-the-metrics-of-tests";

/** The metrics of an api or worker. */
export async function readMetrics({ url }: { readonly url: string }): Promise<string> {
  const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } });
  if (!response.ok) throw new Error(`${url}/metrics answers ${response.status}`);
  return response.text();
}
