import { NODE_EVENTS } from "./node-events.ts";

const EVENTS = ["run.state", "run.paused", "run.finished", "output.delta", ...NODE_EVENTS];

/** A subscriber to the events of an address. */
export interface Follower {
  readonly url: string;
  /** Of several addresses the one of the highest rank is followed; of equal ones the last. */
  readonly rank: number;
  /** Called whenever events begin or stop arriving: without them the subscriber has to poll. */
  readonly onConnected: (isConnected: boolean) => void;
  readonly onEvent: (type: string, text: string) => void;
}

const followers = new Set<Follower>();
let stream: { readonly url: string; readonly source: EventSource } | undefined;

/**
 * Follows an address until the function that it returns is called. All that is followed in a tab shares one connection: a
 * browser has six for all tabs of a host, and events would leave none of them for requests.
 */
export function follow(follower: Follower): () => void {
  followers.add(follower);
  arrange();
  return () => {
    followers.delete(follower);
    arrange();
  };
}

function arrange(): void {
  const wanted = [...followers].reduce<Follower | undefined>(
    (best, each) => (best === undefined || each.rank >= best.rank ? each : best),
    undefined,
  );
  if (stream?.url !== wanted?.url) {
    stream?.source.close();
    stream = wanted && { url: wanted.url, source: open(wanted.url) };
  }
  const isOpen = stream?.source.readyState === EventSource.OPEN;
  for (const each of followers) if (each.url !== stream?.url || isOpen) each.onConnected(each.url === stream?.url);
}

function open(url: string): EventSource {
  const source = new EventSource(url);
  const own = (): Follower[] => [...followers].filter((each) => each.url === url);
  source.addEventListener("open", () => {
    for (const each of own()) each.onConnected(true);
  });
  source.addEventListener("error", () => {
    // The browser tries again on its own, unless the stream has ended; either way the record is asked for meanwhile.
    for (const each of own()) each.onConnected(false);
  });
  for (const type of EVENTS)
    source.addEventListener(type, ({ data }: MessageEvent) => {
      for (const each of own()) each.onEvent(type, String(data));
    });
  return source;
}
