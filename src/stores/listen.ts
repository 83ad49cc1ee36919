import { Client } from "pg";

/** Calls `onNotify` for each notification on a channel, over a dedicated connection that is opened again when it is lost. */
export function listen(
  connection: object,
  channel: string,
  onNotify: (payload: string) => void,
  onReconnect: () => void,
  onError: (error: Error) => void,
): { close(): Promise<void> } {
  let closed = false;
  let client: Client | undefined;
  let retry: NodeJS.Timeout | undefined;
  const connect = async (): Promise<void> => {
    const next = new Client(connection);
    client = next;
    next.on("notification", (message) => onNotify(message.payload ?? ""));
    const lost = (error?: Error): void => {
      if (closed || client !== next) return;
      if (error) onError(error);
      client = undefined;
      next.end().catch(() => undefined);
      retry = setTimeout(() => void connect(), 500);
    };
    next.on("error", lost);
    next.on("end", () => lost());
    try {
      await next.connect();
      await next.query(`listen ${next.escapeIdentifier(channel)}`);
      onReconnect();
    } catch (error) {
      lost(error as Error);
    }
  };
  void connect();
  return {
    async close() {
      closed = true;
      clearTimeout(retry);
      await client?.end().catch(() => undefined);
    },
  };
}
